import type { ChatMessage, GenerateRequest } from '../../../shared/generation.ts';
import type { StepTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../request/engine.ts';
import { percentile } from '../../metrics/percentile.ts';
import { acceptanceRate, tokensPerStep } from '../../metrics/speculation.ts';
import { tpot } from '../../metrics/tpot.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

/** A kind of text, and the request that gives it. */
interface Kind {
  name: string;
  /** Whether it is there to show that drafts pay, or that they cost nothing where they do not. */
  repeats: boolean;
  request: GenerateRequest;
}

const greedy = { temperature: 0 };
const QUESTIONS = ['What is TTFT?', 'Explain the KV cache.'];
const RECORD = '{ "metric": "TTFT", "unit": "ms", "value": 120, "feels": "instant" }';
const CODE =
  'function ttft(trace) {\n  const { calledMs, firstDeltaMs } = trace.marks;\n  return firstDeltaMs - calledMs;\n}\n';

/**
 * Text that repeats: answers that are in the conversation already and asked for again, so that the model quotes them; a raw text that goes on
 * and on; and for models that can write them (the built-in one cannot) JSON and code of which the prompt has the like. Text that does not: the same
 * questions asked for the first time, and tokens drawn at a high temperature.
 */
async function kindsOf(engine: Engine, model: string, own: string | boolean | undefined): Promise<Kind[]> {
  const kinds: Kind[] = [];
  if (typeof own === 'string')
    kinds.push({ name: 'own', repeats: true, request: { prompt: own, ignoreEos: true, sampling: greedy } });
  for (const [index, content] of QUESTIONS.entries()) {
    const first: ChatMessage[] = [{ role: 'user', content }];
    let answer = '';
    for await (const event of engine.generate({ messages: first, maxTokens: QUOTE, ignoreEos: true, sampling: greedy }))
      if (event.type === 'delta') answer += event.text;
    const again: ChatMessage[] = [...first, { role: 'assistant', content: answer }, ...first];
    kinds.push({
      name: `quote${index + 1}`,
      repeats: true,
      request: { messages: again, ignoreEos: true, sampling: greedy },
    });
    kinds.push({
      name: `fresh${index + 1}`,
      repeats: false,
      request: { messages: first, ignoreEos: true, sampling: greedy },
    });
  }
  const words = Array<string>(5).fill('prefill decode').join(' ');
  const raw = [['loop', words]];
  if (model !== 'tutor')
    raw.push(['json', `[\n${Array<string>(4).fill(RECORD).join(',\n')},\n`], ['code', `${CODE}\n${CODE}\n${CODE}\n`]);
  for (const [name, prompt] of raw)
    kinds.push({ name: name!, repeats: true, request: { prompt: prompt!, ignoreEos: true, sampling: greedy } });
  kinds.push({
    name: 'drawn',
    repeats: false,
    request: {
      prompt: 'Once upon a time there was a token that',
      ignoreEos: true,
      sampling: { temperature: 1.3, seed: 7 },
    },
  });
  return kinds;
}

/** Tokens of an answer that is asked for again. */
const QUOTE = 96;
const TOKENS = 96;
const REPEATS = 5;

/** One answer. */
interface Measured {
  tpotMs: number;
  tokensPerStep: number;
  drafted: number;
  accepted: number;
  ids: string;
}

/** The same request with and without drafts, one right after the other. */
interface Pair {
  plain: Measured;
  drafted: Measured;
}

/**
 * Speculative decoding against plain decoding on one engine: the same requests with and without drafts, in turns (A B, then B A), on text that repeats and on
 * text that does not. Tokens per step count every step of decoding, also those without drafts; effective ITL is TPOT, as tokens of one step arrive
 * together. Says as well in how many pairs both gave the same ids (all of them, but for ties within rounding).
 *
 * Takes `output-tokens` (default 96), `requests` (pairs of each kind, default 5) and `prompt` (a raw text of your own that repeats).
 */
export const speculative: Scenario = async (context) => {
  const { engines, options } = context;
  const repeats = Number(options['requests'] ?? REPEATS);
  const figures: Record<string, number> = {};
  const rows: string[] = [];
  for (const [index, name] of engines.entries()) {
    const measured = await pairsOf(context, name, repeats, (share) =>
      context.onProgress(Math.round((index + share) * 100), engines.length * 100),
    );
    const prefix = engines.length > 1 ? `${name}.` : '';
    const put = (kind: string, pairs: readonly Pair[]): void => {
      for (const [figure, value] of Object.entries(figuresOf(pairs))) figures[`${prefix}${kind}${figure}`] = value;
      rows.push(rowOf(name, kind, pairs));
    };
    for (const [{ name: kind }, pairs] of measured) put(kind, pairs);
    const sum = (repeating: boolean): Pair[] =>
      [...measured].flatMap(([kind, pairs]) => (kind.repeats === repeating ? pairs : []));
    put('repeating', sum(true));
    put('notRepeating', sum(false));
  }
  const header =
    '| engine | text | tokens per step | accepted | effective ITL ms | plain ITL ms | ratio | same ids | n |';
  return { figures, table: [header, '|---|---|--:|--:|--:|--:|--:|--:|--:|', ...rows].join('\n') };
};

async function pairsOf(
  { createEngine, model, options, signal }: ScenarioContext,
  name: string,
  repeats: number,
  onShare: (share: number) => void,
): Promise<Map<Kind, Pair[]>> {
  const maxTokens = Number(options['output-tokens'] ?? TOKENS);
  const engine = await createEngine({ model, engine: name, speculation: 'prompt-lookup', prefixCache: false });
  try {
    if (!engine.info.speculation) throw new RangeError(`Cannot measure drafts: the engine ${name} verifies none`);
    const kinds = await kindsOf(engine, model, options['prompt']);
    const pairs = new Map(kinds.map((kind): [Kind, Pair[]] => [kind, []]));
    for (let repeat = -1; repeat < repeats; repeat++)
      for (const [index, kind] of kinds.entries()) {
        signal?.throwIfAborted();
        const request = { ...kind.request, maxTokens };
        const first = await ask(engine, request, repeat % 2 === 0);
        const second = await ask(engine, request, repeat % 2 !== 0);
        if (repeat < 0) continue; // warm-up: the costs of steps are learnt
        const [drafted, plain] = repeat % 2 === 0 ? [first, second] : [second, first];
        pairs.get(kind)!.push({ plain, drafted });
        onShare((repeat + (index + 1) / kinds.length) / repeats);
      }
    return pairs;
  } finally {
    await engine[Symbol.asyncDispose]();
  }
}

/** Asks, and counts the steps. */
async function ask(engine: Engine, request: GenerateRequest, speculation: boolean): Promise<Measured> {
  const steps: StepTrace[] = [];
  const stop = engine.metrics.on('step', (step) => steps.push(step));
  const ids: number[] = [];
  try {
    for await (const event of engine.generate({ ...request, speculation })) {
      if (event.type === 'delta') ids.push(...event.tokens.map(({ id }) => id));
      if (event.type !== 'end') continue;
      const { usage } = event;
      return {
        tpotMs: tpot(event.trace) ?? NaN,
        tokensPerStep: tokensPerStep(usage, steps) ?? NaN,
        drafted: usage.draftedTokens ?? 0,
        accepted: usage.acceptedTokens ?? 0,
        ids: ids.join(),
      };
    }
  } finally {
    stop();
  }
  throw new RangeError('Cannot measure: the answer has no end');
}

function figuresOf(pairs: readonly Pair[]): Record<string, number> {
  const sum = (key: 'drafted' | 'accepted'): number => pairs.reduce((total, { drafted }) => total + drafted[key], 0);
  const rate = acceptanceRate({ draftedTokens: sum('drafted'), acceptedTokens: sum('accepted') });
  return {
    TokensPerStep: medianOf(pairs.map(({ drafted }) => drafted.tokensPerStep)),
    ...(rate !== undefined && { AcceptanceRate: rate }),
    EffectiveItlMs: medianOf(pairs.map(({ drafted }) => drafted.tpotMs)),
    PlainItlMs: medianOf(pairs.map(({ plain }) => plain.tpotMs)),
    ItlRatio: medianOf(pairs.map(({ plain, drafted }) => drafted.tpotMs / plain.tpotMs)),
    SameIds: pairs.filter(({ plain, drafted }) => plain.ids === drafted.ids).length / pairs.length,
    Pairs: pairs.length,
  };
}

function rowOf(engine: string, kind: string, pairs: readonly Pair[]): string {
  const { TokensPerStep, AcceptanceRate, EffectiveItlMs, PlainItlMs, ItlRatio, SameIds, Pairs } = figuresOf(pairs);
  const cells = [
    engine,
    kind,
    TokensPerStep!.toFixed(2),
    AcceptanceRate === undefined ? 'no drafts' : `${Math.round(AcceptanceRate * 100)} %`,
    EffectiveItlMs!.toFixed(2),
    PlainItlMs!.toFixed(2),
    ItlRatio!.toFixed(3),
    `${Math.round(SameIds! * 100)} %`,
    Pairs,
  ];
  return `| ${cells.join(' | ')} |`;
}

const medianOf = (values: readonly number[]): number => percentile(values, 50) ?? NaN;
