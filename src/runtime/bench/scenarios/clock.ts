import type { Engine } from '../../request/engine.ts';
import { itl } from '../../metrics/itl.ts';
import { percentile } from '../../metrics/percentile.ts';
import { tpot } from '../../metrics/tpot.ts';
import { ttft } from '../../metrics/ttft.ts';
import type { Scenario, ScenarioContext, ScenarioResult } from './scenario.ts';

/** One request by the engine's account and by that of whoever called it, ms. */
interface Timed {
  ttftMs: number;
  tpotMs: number;
  itlMs: readonly number[];
  outside: { ttftMs: number; tpotMs: number; gapsMs: readonly number[] };
}

/**
 * Whether the engine's own times are those that a caller sees: TTFT, TPOT and ITL of each request beside what `performance.now()` says around the
 * calls. Each call and delta is also a User Timing mark (`clock:REQUEST:call`, `clock:REQUEST:NUMBER`), so that a third clock can be
 * asked: the browser's own tracing.
 *
 * Takes `requests` (default 10) and `output-tokens` (default 24).
 */
export const clock: Scenario = async ({
  engines,
  createEngine,
  model,
  options,
  onProgress,
  signal,
}: ScenarioContext) => {
  const requests = Number(options['requests'] ?? 10);
  const outputTokens = Number(options['output-tokens'] ?? 24);
  const figures: Record<string, number> = { outputTokens };
  const rows: string[] = [];
  for (const [place, name] of engines.entries()) {
    const engine = await createEngine({ model, engine: name, prefixCache: false });
    try {
      const timed: Timed[] = [];
      for (let request = -1; request < requests; request++) {
        signal?.throwIfAborted();
        const one = await timeRequest(engine, `clock:${place * requests + request}`, outputTokens);
        if (request < 0) continue; // warm-up
        timed.push(one);
        onProgress(place * requests + request + 1, engines.length * requests);
      }
      const found = compare(timed);
      const prefix = engines.length > 1 ? `${name}.` : '';
      for (const { figure, insideMs, outsideMs } of found) {
        figures[`${prefix}${figure}Ms`] = insideMs;
        figures[`${prefix}${figure}OutsideMs`] = outsideMs;
      }
      rows.push(...found.map((row) => rowOf(name, row, timed.length)));
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  }
  return resultOf(figures, rows);
};

async function timeRequest(engine: Engine, mark: string, maxTokens: number): Promise<Timed> {
  /** Of deltas with text, which is what TTFT and E2E count; and of those with tokens, of which some have no text yet. */
  const times: number[] = [];
  const tokenTimes: number[] = [];
  let tokens = 0;
  let timed: Omit<Timed, 'outside'> | undefined;
  performance.mark(`${mark}:call`);
  const calledMs = performance.now();
  const request = { prompt: 'The time to first token is', maxTokens, ignoreEos: true, sampling: { temperature: 0 } };
  for await (const event of engine.generate(request)) {
    if (event.type === 'delta') {
      if (event.tokens.length > 0) tokenTimes.push(performance.now());
      if (event.text === '') continue;
      performance.mark(`${mark}:${times.length}`);
      times.push(performance.now());
    } else if (event.type === 'end') {
      const { trace } = event;
      tokens = trace.usage.completionTokens;
      timed = { ttftMs: ttft(trace) ?? NaN, tpotMs: tpot(trace) ?? NaN, itlMs: itl(trace) };
    }
  }
  const [first, last] = [times[0], times.at(-1)];
  if (!timed || first === undefined || last === undefined) throw new RangeError('Cannot time: the answer had no text');
  const gapsMs = tokenTimes.slice(1).map((atMs, index) => atMs - tokenTimes[index]!);
  return { ...timed, outside: { ttftMs: first - calledMs, tpotMs: (last - first) / (tokens - 1), gapsMs } };
}

interface Compared {
  figure: 'ttft' | 'tpot' | 'itl';
  insideMs: number;
  outsideMs: number;
}

function compare(timed: readonly Timed[]): Compared[] {
  const median = (values: readonly number[]): number => percentile(values, 50) ?? NaN;
  return [
    {
      figure: 'ttft',
      insideMs: median(timed.map(({ ttftMs }) => ttftMs)),
      outsideMs: median(timed.map(({ outside }) => outside.ttftMs)),
    },
    {
      figure: 'tpot',
      insideMs: median(timed.map(({ tpotMs }) => tpotMs)),
      outsideMs: median(timed.map(({ outside }) => outside.tpotMs)),
    },
    {
      figure: 'itl',
      insideMs: median(timed.flatMap(({ itlMs }) => itlMs)),
      outsideMs: median(timed.flatMap(({ outside }) => outside.gapsMs)),
    },
  ];
}

function rowOf(engine: string, { figure, insideMs, outsideMs }: Compared, n: number): string {
  const difference = insideMs - outsideMs;
  const cells = [
    engine,
    `${figure.toUpperCase()} p50`,
    insideMs.toFixed(3),
    outsideMs.toFixed(3),
    difference.toFixed(3),
    `${((difference / outsideMs) * 100).toFixed(2)} %`,
    n,
  ];
  return `| ${cells.join(' | ')} |`;
}

function resultOf(figures: Record<string, number>, rows: readonly string[]): ScenarioResult {
  const header = '| engine | figure | engine ms | caller ms | difference ms | difference | requests |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|--:|', ...rows].join('\n') };
}
