import { systemClock, type Clock } from '../../shared/clock.ts';
import type { FinishReason, GenerateRequest } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { Engine } from '../request/engine.ts';
import { e2e } from '../metrics/e2e.ts';
import { itl } from '../metrics/itl.ts';
import { prefillRate } from '../metrics/rates.ts';
import { tpot } from '../metrics/tpot.ts';
import { ttft, ttftParts, type TtftParts } from '../metrics/ttft.ts';

/** One request as it was measured: the raw material of every figure in a report. */
export interface Sample {
  /** Position in the run, warm-up requests included. */
  index: number;
  /** Before the measured part; left out of every figure. */
  warmUp: boolean;
  /** After the measured part: load for the others, left out of every figure but the machine's tokens. Absent for false. */
  coolDown?: boolean;
  /** Whether the page was hidden during it; such samples stay out of percentiles. */
  hidden: boolean;
  /** Conversation and turn (from 0); absent where conversations have one turn. */
  conversation?: number;
  turn?: number;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Drafts that were verified, and those of them that are output; absent where there were none. */
  draftedTokens?: number;
  acceptedTokens?: number;
  finishReason: FinishReason;
  ttftMs?: number;
  ttftParts?: TtftParts;
  itlMs: readonly number[];
  tpotMs?: number;
  e2eMs?: number;
  /** Computed prompt tokens / prefill compute time. */
  prefillTokensPerSecond?: number;
  /**
   * When the request was due, ms since the start of the run; latencies count from here. Pauses, and the turns of other engines, are left
   * out of this axis. Open loop: as planned; closed loop: when it was sent.
   */
  calledMs: number;
  /** From when it was due until it was sent, ms: the lateness of the load generator, which is within TTFT. Absent for closed loop. */
  dispatchDelayMs?: number;
  /** When each output token was known, on the axis of `calledMs`. */
  tokenTimesMs: readonly number[];
  text: string;
  ids: readonly number[];
}

/** What {@link measureRequest} saw, before it is put in relation to a run. */
export interface Measured {
  trace: RequestTrace;
  finishReason: FinishReason;
  text: string;
  ids: readonly number[];
}

/**
 * Sends one request and reads it to its end.
 * @param calledAtMs when it was due, if that was earlier than now
 * @throws what the engine throws; `AbortError` once the signal is aborted
 */
export async function measureRequest(
  engine: Engine,
  request: GenerateRequest,
  {
    clock = systemClock,
    calledAtMs = clock.now(),
    signal,
  }: { clock?: Clock; calledAtMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<Measured> {
  let text = '';
  const ids: number[] = [];
  for await (const event of engine.generate({ ...request, calledAtMs }, signal)) {
    if (event.type === 'delta') {
      text += event.text;
      for (const token of event.tokens) ids.push(token.id);
    } else if (event.type === 'end') return { trace: event.trace, finishReason: event.finishReason, text, ids };
  }
  throw new TypeError('Cannot measure the request: the engine ended it without an end event');
}

/** Where a sample stands in its run. */
export type SamplePlace = Pick<
  Sample,
  'index' | 'warmUp' | 'coolDown' | 'conversation' | 'turn' | 'dispatchDelayMs'
> & {
  /** Origin of the axis of the run, see {@link Sample.calledMs}. */
  originMs: number;
};

/** The metrics of a request, as plain data that a report can hold. */
export function toSample({ trace, finishReason, text, ids }: Measured, { originMs, ...place }: SamplePlace): Sample {
  const optional = {
    ttftMs: ttft(trace),
    ttftParts: ttftParts(trace),
    tpotMs: tpot(trace),
    e2eMs: e2e(trace),
    prefillTokensPerSecond: prefillRate(trace),
    draftedTokens: trace.usage.draftedTokens,
    acceptedTokens: trace.usage.acceptedTokens,
  };
  return {
    ...place,
    hidden: trace.hidden,
    promptTokens: trace.usage.promptTokens,
    cachedTokens: trace.usage.cachedTokens,
    outputTokens: trace.usage.completionTokens,
    finishReason,
    itlMs: itl(trace),
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as Partial<Sample>),
    calledMs: trace.marks.calledMs - originMs,
    tokenTimesMs: trace.tokenTimesMs.map((atMs) => atMs - originMs),
    text,
    ids,
  };
}
