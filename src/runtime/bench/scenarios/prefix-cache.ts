import { randomId } from '../../../shared/random-id.ts';
import { KV_BLOCK_TOKENS } from '../../backends/backend.ts';
import type { Engine } from '../../request/engine.ts';
import { percentile } from '../../metrics/percentile.ts';
import { ttft, ttftParts } from '../../metrics/ttft.ts';
import { measureRequest } from '../sample.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

/** How a request found its system prompt. */
type Start = 'cold' | 'memory' | 'stored';

/** One measured request. */
interface Measured {
  start: Start;
  ttftMs: number;
  cacheMs: number;
  promptTokens: number;
  cachedTokens: number;
}

const QUESTIONS = ['What is TTFT?', 'Why is decoding memory-bound?', 'What does prefill do?', 'Explain the KV cache.'];
const SENTENCE = 'Answer in one sentence, name the number that matters, and say what one could do about it.';

/** What is known of an engine's runs so far; goes over the reload as JSON. */
interface EngineRuns {
  measured: Measured[];
  /** Text of each system prompt, by its name. */
  systems: Record<string, string>;
}

interface RunState {
  /** Told in every system prompt, so that what an earlier run has stored is not found. */
  run: string;
  engines: Record<string, EngineRuns>;
}

/**
 * TTFT with a long system prompt: cold, with its KV in memory (another conversation), and after the page was loaded anew (the same profile of
 * the browser). Cold requests are measured in turns with the others, before and after the reload; each has a system prompt that was
 * never seen before. Where the page cannot be loaded anew, another engine in another worker stands in for that.
 *
 * Takes `prompt-tokens` (of the system prompt, default 1024) and `requests` (repeats, default 5).
 */
export const prefixCache: Scenario = async (context) => {
  const { engines, options, reload } = context;
  const tokens = Number(options['prompt-tokens'] ?? 1024);
  const repeats = Number(options['requests'] ?? 5);
  const resumed = context.state as RunState | undefined;
  const state: RunState = resumed ?? { run: randomId(), engines: {} };
  const of = engines.length * repeats * 5;
  const onMeasured = (): void => {
    const done = Object.values(state.engines).reduce((sum, { measured }) => sum + measured.length, 0);
    context.onProgress(done, of);
  };
  const visit = { context, tokens, repeats, run: state.run, onMeasured };
  if (!resumed) {
    for (const name of engines) await beforeReload(visit, name, (state.engines[name] = { measured: [], systems: {} }));
    if (reload) await reload(state);
  }
  const figures: Record<string, number> = {};
  const rows: string[] = [];
  for (const name of engines) {
    const runs = state.engines[name]!;
    const facts = await afterReload(visit, name, runs);
    const prefix = engines.length > 1 ? `${name}.` : '';
    for (const [figure, value] of Object.entries({ ...figuresOf(runs.measured), ...facts }))
      figures[`${prefix}${figure}`] = value;
    for (const start of ['cold', 'memory', 'stored'] as const) rows.push(rowOf(name, start, runs.measured));
    const { storedBytesPerToken, storedToExactBytes } = facts;
    rows.push(
      `| ${name} | stored KV: ${storedBytesPerToken} bytes a token, ${storedToExactBytes!.toFixed(3)} of exact |||||||`,
    );
  }
  if (context.reload) figures['reloads'] = 1;
  const header = '| engine | start | TTFT ms (median) | of which cache ms | of cold | prompt tokens | cached | n |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|--:|--:|', ...rows].join('\n') };
};

interface Visit {
  context: ScenarioContext;
  /** Of the system prompt. */
  tokens: number;
  repeats: number;
  run: string;
  onMeasured: () => void;
}

/** Measures cold requests and such that find their system prompt in memory. */
async function beforeReload(visit: Visit, name: string, runs: EngineRuns): Promise<void> {
  await withEngine(visit, name, async (engine) => {
    const ask = asker(visit, engine, runs);
    await ask('cold', 'warm-up', 0);
    for (let repeat = 0; repeat < visit.repeats; repeat++) {
      await ask('cold', `a${repeat}`, 0);
      await ask('memory', `a${repeat}`, 1);
    }
  });
}

/** Measures requests that find their system prompt on disk, in turns with cold ones and such that find it in memory. */
async function afterReload(visit: Visit, name: string, runs: EngineRuns): Promise<Record<string, number>> {
  return withEngine(visit, name, async (engine) => {
    const ask = asker(visit, engine, runs);
    await ask('cold', 'warm-up again', 1);
    for (let repeat = 0; repeat < visit.repeats; repeat++) {
      await ask('stored', `a${repeat}`, 2);
      await ask('cold', `b${repeat}`, 0);
      await ask('memory', `a${repeat}`, 3);
    }
    const { bytesPerToken, stored } = await engine.prefixCache!.stats();
    const tokens = (stored?.blocks ?? 0) * KV_BLOCK_TOKENS;
    const storedBytesPerToken = tokens === 0 ? bytesPerToken : stored!.bytes / tokens;
    return {
      storedBytesPerToken,
      storedToExactBytes: storedBytesPerToken / engine.info.model.kvBytesPerToken,
      rejectedRecords: stored?.rejected ?? 0,
    };
  });
}

async function withEngine<Result>(
  { context: { createEngine, model } }: Visit,
  name: string,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const engine = await createEngine({ model, engine: name, prefixCache: true });
  try {
    if (!engine.prefixCache) throw new RangeError(`Cannot measure a prefix cache: the engine ${name} has none`);
    return await work(engine);
  } finally {
    await engine[Symbol.asyncDispose]();
  }
}

/** Asks with a system prompt of that name, and takes down what it took; warm-ups are asked and left out. */
function asker({ context, tokens, run, onMeasured }: Visit, engine: Engine, { measured, systems }: EngineRuns) {
  return async (start: Start, system: string, question: number): Promise<void> => {
    context.signal?.throwIfAborted();
    const text = (systems[system] ??= await systemPrompt(engine, tokens, `${system} ${run}`));
    const { trace } = await measureRequest(engine, {
      messages: [
        { role: 'system', content: text },
        { role: 'user', content: QUESTIONS[question % QUESTIONS.length]! },
      ],
      maxTokens: 2,
      ignoreEos: true,
      sampling: { temperature: 0 },
    });
    await engine.prefixCache?.stats(); // what was computed is kept by now
    const { promptTokens, cachedTokens } = trace.usage;
    const cacheMs = ttftParts(trace)?.cacheMs ?? 0;
    if (system.startsWith('warm-up')) return;
    measured.push({ start, ttftMs: ttft(trace) ?? 0, cacheMs, promptTokens, cachedTokens });
    onMeasured();
  };
}

/** A system prompt of about `tokens` tokens that begins like no other. */
async function systemPrompt(engine: Engine, tokens: number, opening: string): Promise<string> {
  const text = (sentences: number): string => [`${opening}:`, ...Array<string>(sentences).fill(SENTENCE)].join(' ');
  const perSentence =
    (await engine.countTokens({ prompt: text(11) })) - (await engine.countTokens({ prompt: text(10) }));
  const opened = await engine.countTokens({ prompt: text(0) });
  return text(Math.max(1, Math.round((tokens - opened) / perSentence)));
}

function figuresOf(measured: readonly Measured[]): Record<string, number> {
  const of = (start: Start): Measured[] => measured.filter((one) => one.start === start);
  const cold = medianOf(of('cold').map(({ ttftMs }) => ttftMs));
  const hitRate = (some: Measured[]): number =>
    some.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0) /
    some.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const figures: Record<string, number> = {
    coldTtftMs: cold,
    coldHitRate: hitRate(of('cold')),
    n: of('stored').length,
  };
  for (const start of ['memory', 'stored'] as const) {
    const ttftMs = medianOf(of(start).map((one) => one.ttftMs));
    figures[`${start}TtftMs`] = ttftMs;
    figures[`${start}ToCold`] = ttftMs / cold;
    figures[`${start}CacheMs`] = medianOf(of(start).map(({ cacheMs }) => cacheMs));
    figures[`${start}HitRate`] = hitRate(of(start));
  }
  return figures;
}

function rowOf(engine: string, start: Start, measured: readonly Measured[]): string {
  const some = measured.filter((one) => one.start === start);
  const cold = medianOf(measured.filter((one) => one.start === 'cold').map(({ ttftMs }) => ttftMs));
  const ttftMs = medianOf(some.map((one) => one.ttftMs));
  const cells = [
    engine,
    { cold: 'cold', memory: 'in memory', stored: 'after a reload' }[start],
    ttftMs.toFixed(0),
    medianOf(some.map(({ cacheMs }) => cacheMs)).toFixed(1),
    (ttftMs / cold).toFixed(3),
    medianOf(some.map(({ promptTokens }) => promptTokens)).toFixed(0),
    medianOf(some.map(({ cachedTokens }) => cachedTokens)).toFixed(0),
    some.length,
  ];
  return `| ${cells.join(' | ')} |`;
}

const medianOf = (values: readonly number[]): number => percentile(values, 50) ?? 0;
