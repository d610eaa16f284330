import type { Engine } from '../../../request/engine.ts';
import { percentile } from '../../../metrics/percentile.ts';
import { fitPrompt } from '../../fit-prompt.ts';
import { questionOf } from './load.ts';

const STREAMS = 4;
/** Tokens that a stream gives before the long prompt arrives, and at least after it is answered. */
const BEFORE = 32;
const AFTER = 16;
/** More than any of the streams comes to. */
const STREAM_TOKENS = 1000;

/** What a long prompt did to those who were streaming when it arrived. */
export interface Arrival {
  /** Of all gaps between tokens of the streams. */
  medianGapMs: number;
  /** Longest gap between two tokens of a stream, after the arrival. */
  worstGapMs: number;
  /** Longest that one of the users waited for a token after the arrival, the first one included: where one runs at a time, others wait. */
  worstWaitMs: number;
  longTtftMs: number;
}

/** Four users stream, and a fifth comes with a long prompt. */
export async function measureArrival(engine: Engine, promptTokens: number): Promise<Arrival> {
  const { model, scheduling } = engine.info;
  const most = Math.min(STREAM_TOKENS, model.contextTokens - 64);
  // Where one runs at a time the streams have to end for the others to begin.
  const tokens = (scheduling?.maxBatch ?? 1) < STREAMS ? BEFORE + AFTER : most;
  const long = await fitPrompt(engine, promptTokens);
  const answered = new AbortController();
  let underWay = 0;
  let onReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (onReady = resolve));
  const calledMs = performance.timeOrigin + performance.now();
  const streams = Array.from({ length: STREAMS }, (_, user) =>
    stream(engine, user, tokens, answered.signal, (count) => {
      if (count === BEFORE && ++underWay === Math.min(STREAMS, scheduling?.maxBatch ?? 1)) onReady();
    }),
  );
  await ready;
  const arrivedMs = performance.timeOrigin + performance.now();
  let longTtftMs = NaN;
  for await (const event of engine.generate({
    ...long.input,
    maxTokens: AFTER,
    ignoreEos: true,
    sampling: { temperature: 0 },
  })) {
    if (event.type === 'delta' && Number.isNaN(longTtftMs) && event.tokens.length > 0)
      longTtftMs = event.tokens[0]!.atMs - arrivedMs;
  }
  answered.abort();
  const times = await Promise.all(streams);
  const gaps = times.map((atMs) => atMs.slice(1).map((time, index) => ({ time, ms: time - atMs[index]! })));
  const after = gaps.flat().filter(({ time }) => time > arrivedMs);
  const firstWaits = times.flatMap((atMs) => (atMs[0]! > arrivedMs ? [atMs[0]! - calledMs] : []));
  const worstGapMs = Math.max(...after.map(({ ms }) => ms));
  return {
    medianGapMs:
      percentile(
        gaps.flat().map(({ ms }) => ms),
        50,
      ) ?? NaN,
    worstGapMs,
    worstWaitMs: Math.max(worstGapMs, ...firstWaits),
    longTtftMs,
  };
}

/** Times of the tokens of one answer, until it ends or the long one is answered. */
async function stream(
  engine: Engine,
  user: number,
  maxTokens: number,
  answered: AbortSignal,
  onToken: (count: number) => void,
): Promise<number[]> {
  const atMs: number[] = [];
  try {
    for await (const event of engine.generate(questionOf(user, maxTokens), answered)) {
      if (event.type !== 'delta') continue;
      for (const token of event.tokens) {
        atMs.push(token.atMs);
        onToken(atMs.length);
      }
    }
  } catch (error) {
    if (!answered.aborted) throw error;
  }
  return atMs;
}

export const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
