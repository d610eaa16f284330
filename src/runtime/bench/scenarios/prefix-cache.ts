import type { GenerateRequest } from '../../../shared/generation.ts';
import type { RequestTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../engine/engine.ts';
import { percentile } from '../../metrics/percentile.ts';
import { ttft, ttftParts } from '../../metrics/ttft.ts';
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

/**
 * TTFT with a long system prompt: cold, with its KV in memory (another conversation), and after a reload (another engine in another worker,
 * the same IndexedDB). Cold requests are measured in turns with the others, before and after the reload; each has a system prompt that was
 * never seen before.
 *
 * Takes `prompt-tokens` (of the system prompt, default 1024) and `requests` (repeats, default 3).
 */
export const prefixCache: Scenario = async (context) => {
  const tokens = Number(context.options['prompt-tokens'] ?? 1024);
  const repeats = Number(context.options['requests'] ?? 3);
  const figures: Record<string, number> = {};
  const rows: string[] = [];
  let done = 0;
  const of = context.engines.length * repeats * 5;
  for (const name of context.engines) {
    const { measured, facts } = await measureEngine(context, name, { tokens, repeats }, () =>
      context.onProgress(++done, of),
    );
    const prefix = context.engines.length > 1 ? `${name}.` : '';
    for (const [figure, value] of Object.entries({ ...figuresOf(measured), ...facts }))
      figures[`${prefix}${figure}`] = value;
    for (const start of ['cold', 'memory', 'stored'] as const) rows.push(rowOf(name, start, measured));
  }
  const header = '| engine | start | TTFT ms (median) | of which cache ms | of cold | prompt tokens | cached | n |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|--:|--:|', ...rows].join('\n') };
};

async function measureEngine(
  { createEngine, model, signal }: ScenarioContext,
  name: string,
  { tokens, repeats }: { tokens: number; repeats: number },
  onMeasured: () => void,
): Promise<{ measured: Measured[]; facts: Record<string, number> }> {
  // What was stored by an earlier run must not be found.
  const run = crypto.randomUUID();
  const measured: Measured[] = [];
  const systems = new Map<string, string>();
  const ask = async (engine: Engine, start: Start, system: string, question: number): Promise<void> => {
    signal?.throwIfAborted();
    const text = systems.get(system) ?? (await systemPrompt(engine, tokens, `${system} ${run}`));
    systems.set(system, text);
    const trace = await firstToken(engine, {
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
    if (system === 'warm-up') return;
    measured.push({ start, ttftMs: ttft(trace) ?? 0, cacheMs, promptTokens, cachedTokens });
    onMeasured();
  };

  const before = await createEngine({ model, engine: name, prefixCache: true });
  try {
    if (!before.prefixCache) throw new RangeError(`Cannot measure a prefix cache: the engine ${name} has none`);
    await ask(before, 'cold', 'warm-up', 0);
    for (let repeat = 0; repeat < repeats; repeat++) {
      await ask(before, 'cold', `a${repeat}`, 0);
      await ask(before, 'memory', `a${repeat}`, 1);
    }
  } finally {
    await before[Symbol.asyncDispose]();
  }
  const after = await createEngine({ model, engine: name, prefixCache: true });
  try {
    await ask(after, 'cold', 'warm-up', 1);
    for (let repeat = 0; repeat < repeats; repeat++) {
      await ask(after, 'stored', `a${repeat}`, 2);
      await ask(after, 'cold', `b${repeat}`, 0);
      await ask(after, 'memory', `a${repeat}`, 3);
    }
    const stats = await after.prefixCache!.stats();
    return {
      measured,
      facts: {
        storedBytesPerToken: stats.bytesPerToken,
        storedToExactBytes: stats.bytesPerToken / after.info.model.kvBytesPerToken,
        rejectedRecords: stats.stored?.rejected ?? 0,
      },
    };
  } finally {
    await after[Symbol.asyncDispose]();
  }
}

/** A system prompt of about `tokens` tokens that begins like no other. */
async function systemPrompt(engine: Engine, tokens: number, opening: string): Promise<string> {
  const text = (sentences: number): string => [`${opening}:`, ...Array<string>(sentences).fill(SENTENCE)].join(' ');
  const perSentence =
    (await engine.countTokens({ prompt: text(11) })) - (await engine.countTokens({ prompt: text(10) }));
  const opened = await engine.countTokens({ prompt: text(0) });
  return text(Math.max(1, Math.round((tokens - opened) / perSentence)));
}

async function firstToken(engine: Engine, request: GenerateRequest): Promise<RequestTrace> {
  for await (const event of engine.generate(request)) if (event.type === 'end') return event.trace;
  throw new RangeError('Cannot measure: the answer has no end');
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
