import type { SchedulingPolicy } from '../../../shared/info.ts';
import type { StepTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../request/engine.ts';
import { DEVICES } from '../../metrics/devices.ts';
import { decodeOn, EXAMPLE_MODELS } from '../../metrics/hardware-what-if.ts';
import { percentile } from '../../metrics/percentile.ts';
import { meanOf, measureArrival, type Arrival } from './batching/arrival.ts';
import { runTogether, type Together } from './batching/load.ts';
import type { Scenario, ScenarioContext, ScenarioResult } from './scenario.ts';

const CONCURRENCIES = [1, 2, 4, 8] as const;
const ARRIVAL_POLICIES = ['balanced', 'throughput', 'latency'] as const satisfies readonly SchedulingPolicy[];
/** Where decoding is decided by memory, as on nearly all GPUs: its peak cancels out of a gain. */
const EXAMPLE_DEVICE = 'apple-m4-pro';

/** What was measured at one concurrency, all rounds together. */
interface Level {
  itlMs: number[];
  ttftMs: number[];
  /** Output tokens of a round over its duration. */
  rates: number[];
  /** Of steps in which all decode and none is in prefill. */
  steps: StepTrace[];
}

/**
 * What a batch costs each user and what it gives all of them, at concurrency 1, 2, 4 and 8 (measured in turns); and what a long prompt does to
 * four who are streaming, under each policy.
 *
 * Takes `requests` (rounds, default 3), `prompt-tokens` (of the long prompt, default 1500, at most what the context holds), `output-tokens` (of
 * each answer in the batch, default 64).
 */
export const batching: Scenario = async (context) => {
  const figures: Record<string, number> = {};
  const tables: string[] = [];
  let done = 0;
  const rounds = Number(context.options['requests'] ?? 3);
  const of = context.engines.length * (rounds * (CONCURRENCIES.length + ARRIVAL_POLICIES.length));
  for (const name of context.engines) {
    const measured = await measureEngine(context, name, rounds, () => context.onProgress(++done, of));
    const prefix = context.engines.length > 1 ? `${name}.` : '';
    for (const [figure, value] of Object.entries(measured.figures)) figures[`${prefix}${figure}`] = value;
    tables.push(measured.table);
  }
  return { figures, table: tables.join('\n\n') };
};

async function measureEngine(
  context: ScenarioContext,
  name: string,
  rounds: number,
  onMeasured: () => void,
): Promise<ScenarioResult> {
  const outputTokens = Number(context.options['output-tokens'] ?? 64);
  const levels = new Map<number, Level>();
  const using = async <Result>(
    policy: SchedulingPolicy,
    work: (engine: Engine) => Promise<Result>,
  ): Promise<Result> => {
    const { createEngine, model } = context;
    const engine = await createEngine({ model, engine: name, policy, prefixCache: false });
    try {
      return await work(engine);
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  };
  const info = await using('balanced', async (engine) => {
    await runTogether(engine, CONCURRENCIES.at(-1)!, 8); // warm-up: kernels, pipelines, measured costs
    for (let round = 0; round < rounds; round++) {
      for (const users of CONCURRENCIES) {
        context.signal?.throwIfAborted();
        add(levels, users, await runTogether(engine, users, outputTokens));
        onMeasured();
      }
    }
    return engine.info;
  });
  const arrivals = new Map<SchedulingPolicy, Arrival[]>();
  const wanted = Number(context.options['prompt-tokens'] ?? 1500);
  const promptTokens = Math.min(wanted, info.model.contextTokens - 32);
  for (const policy of ARRIVAL_POLICIES) {
    arrivals.set(
      policy,
      await using(policy, async (engine) => {
        const made: Arrival[] = [];
        for (let round = 0; round < rounds; round++) {
          context.signal?.throwIfAborted();
          made.push(await measureArrival(engine, promptTokens));
          onMeasured();
        }
        return made;
      }),
    );
  }
  const { weightBytes, kvBytesPerToken } = info.model;
  const figures: Record<string, number> = { n: rounds, maxBatch: info.scheduling?.maxBatch ?? 1 };
  for (const [users, level] of levels) Object.assign(figures, levelFigures(users, level));
  Object.assign(figures, exchange(levels));
  figures['arrival.promptTokens'] = promptTokens;
  for (const [policy, made] of arrivals) Object.assign(figures, arrivalFigures(policy, made));
  const contextTokens =
    percentile(
      levels.get(8)!.steps.map((step) => step.contextTokens),
      50,
    ) ?? 0;
  // A step reads all weights once and the KV of each sequence: bandwidth over that is the rate, and the bandwidth cancels out.
  figures['roofline.gain8'] =
    (8 * (weightBytes + contextTokens * kvBytesPerToken)) / (weightBytes + 8 * contextTokens * kvBytesPerToken);
  figures['roofline.gain8Llama3_8b'] = exampleGain(8, 1024);
  return { figures, table: tableOf(name, figures) };
}

function add(levels: Map<number, Level>, users: number, { itlMs, ttftMs, tokens, ms, steps }: Together): void {
  const level = levels.get(users) ?? { itlMs: [], ttftMs: [], rates: [], steps: [] };
  level.itlMs.push(...itlMs);
  level.ttftMs.push(...ttftMs);
  level.rates.push((tokens * 1000) / ms);
  level.steps.push(
    ...steps.filter(({ kind, batch, tokens: rows }) => kind === 'decode' && batch === users && rows === users),
  );
  levels.set(users, level);
}

function levelFigures(users: number, { itlMs, ttftMs, rates, steps }: Level): Record<string, number> {
  const dispatches = meanOf(steps.flatMap((step) => step.dispatches ?? []));
  const weightBytes = meanOf(steps.flatMap(({ bytes }) => bytes?.weights ?? []));
  return named(`c${users}`, {
    itlP50Ms: percentile(itlMs, 50),
    itlP95Ms: percentile(itlMs, 95),
    ttftP95Ms: percentile(ttftMs, 95),
    systemTokensPerSecond: percentile(rates, 50),
    dispatchesPerStep: dispatches,
    weightBytesPerStep: weightBytes,
    nTtft: ttftMs.length,
    nItl: itlMs.length,
  });
}

/** What a batch of 8 gives and costs, against one at a time in the same run. */
function exchange(levels: ReadonlyMap<number, Level>): Record<string, number> {
  const one = levelFigures(1, levels.get(1)!);
  const eight = levelFigures(8, levels.get(8)!);
  const ratio = (figure: string): number | undefined => {
    const [a, b] = [eight[`c8.${figure}`], one[`c1.${figure}`]];
    return a === undefined || b === undefined ? undefined : a / b;
  };
  return named('c8ToC1', {
    systemTokensPerSecond: ratio('systemTokensPerSecond'),
    itlP50: ratio('itlP50Ms'),
    dispatchesPerStep: ratio('dispatchesPerStep'),
    weightBytesPerStep: ratio('weightBytesPerStep'),
  });
}

function arrivalFigures(policy: SchedulingPolicy, made: readonly Arrival[]): Record<string, number> {
  return named(policy, {
    medianGapMs: percentile(
      made.map(({ medianGapMs }) => medianGapMs),
      50,
    ),
    worstGapMs: percentile(
      made.map(({ worstGapMs }) => worstGapMs),
      50,
    ),
    worstGapToMedian: percentile(
      made.map(({ worstGapMs, medianGapMs }) => worstGapMs / medianGapMs),
      50,
    ),
    worstGapToMedianMax: Math.max(...made.map(({ worstGapMs, medianGapMs }) => worstGapMs / medianGapMs)),
    worstWaitToMedian: percentile(
      made.map(({ worstWaitMs, medianGapMs }) => worstWaitMs / medianGapMs),
      50,
    ),
    worstWaitMs: percentile(
      made.map(({ worstWaitMs }) => worstWaitMs),
      50,
    ),
    longTtftMs: percentile(
      made.map(({ longTtftMs }) => longTtftMs),
      50,
    ),
  });
}

/** What the roofline gives for 8 users against 1, for a model of the size that people run, on a device that publishes its rates. */
function exampleGain(batch: number, contextTokens: number): number {
  const device = DEVICES.find(({ id }) => id === EXAMPLE_DEVICE)!;
  const rate = (users: number): number =>
    decodeOn(EXAMPLE_MODELS.llama3_8b, { device, precision: 'q4_0', batch: users, contextTokens }).tokensPerSecond ??
    NaN;
  return rate(batch) / rate(1);
}

function tableOf(engine: string, figures: Record<string, number>): string {
  const show = (name: string, digits: number): string => figures[name]?.toFixed(digits) ?? '-';
  const levels = CONCURRENCIES.map((users) => {
    const figure = (name: string, digits: number): string => show(`c${users}.${name}`, digits);
    const cells = [
      engine,
      users,
      figure('itlP50Ms', 1),
      figure('itlP95Ms', 1),
      figure('ttftP95Ms', 0),
      figure('systemTokensPerSecond', 0),
      figure('dispatchesPerStep', 1),
      figure('weightBytesPerStep', 0),
      figure('nTtft', 0),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const arrivals = ARRIVAL_POLICIES.map((policy) => {
    const figure = (name: string, digits: number): string => show(`${policy}.${name}`, digits);
    const cells = [
      engine,
      policy,
      figure('medianGapMs', 1),
      figure('worstGapMs', 1),
      figure('worstGapToMedian', 2),
      figure('worstWaitMs', 0),
      figure('longTtftMs', 0),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| engine | users | ITL p50 ms | ITL p95 ms | TTFT p95 ms | system tok/s | dispatches a step | weight bytes a step | n |',
    '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...levels,
    '',
    `A prompt of ${show('arrival.promptTokens', 0)} tokens arrives while 4 stream:`,
    '',
    '| engine | policy | median gap ms | worst gap ms | worst / median | longest without a token ms | TTFT of the long prompt ms |',
    '|---|---|--:|--:|--:|--:|--:|',
    ...arrivals,
    '',
    `Batch 8 gives ${show('c8ToC1.systemTokensPerSecond', 2)} x the tokens per second of batch 1 here. On a GPU where memory decides, the roofline ` +
      `gives ${show('roofline.gain8', 2)} x for this model, and ${show('roofline.gain8Llama3_8b', 2)} x for Llama 3 8B in 4 bits with 1024 tokens of context.`,
  ].join('\n');
}

/** Figures with a prefix; what is not known is left out. */
function named(prefix: string, figures: Readonly<Record<string, number | undefined>>): Record<string, number> {
  const known = Object.entries(figures).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [`${prefix}.${name}`, value]));
}
