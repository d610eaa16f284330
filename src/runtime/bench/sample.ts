import { systemClock, type Clock } from '../../shared/clock.ts';
import type { FinishReason, GenerateRequest } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { Engine } from '../engine/engine.ts';
import { e2e } from '../metrics/e2e.ts';
import { itl } from '../metrics/itl.ts';
import { prefillRate } from '../metrics/rates.ts';
import { tpot } from '../metrics/tpot.ts';
import { ttft, ttftParts, type TtftParts } from '../metrics/ttft.ts';

/** One request as it was measured: the raw material of every figure in a report. */
export interface Sample {
  /** Position in the run, warm-up requests included. */
  index: number;
  warmUp: boolean;
  /** Whether the page was hidden during it; such samples stay out of percentiles. */
  hidden: boolean;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  finishReason: FinishReason;
  ttftMs?: number;
  ttftParts?: TtftParts;
  itlMs: readonly number[];
  tpotMs?: number;
  e2eMs?: number;
  /** Computed prompt tokens / prefill compute time. */
  prefillTokensPerSecond?: number;
  /** When the request was called and each output token was known, ms since the start of the run. */
  calledMs: number;
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

/** Sends one request and reads it to its end. @throws what the engine throws */
export async function measureRequest(
  engine: Engine,
  request: GenerateRequest,
  clock: Clock = systemClock,
): Promise<Measured> {
  let text = '';
  const ids: number[] = [];
  for await (const event of engine.generate({ ...request, calledAtMs: clock.now() })) {
    if (event.type === 'delta') {
      text += event.text;
      for (const token of event.tokens) ids.push(token.id);
    } else if (event.type === 'end') return { trace: event.trace, finishReason: event.finishReason, text, ids };
  }
  throw new TypeError('Cannot measure the request: the engine ended it without an end event');
}

/** The metrics of a request, as plain data that a report can hold. */
export function toSample(
  { trace, finishReason, text, ids }: Measured,
  { index, warmUp, runStartMs }: { index: number; warmUp: boolean; runStartMs: number },
): Sample {
  const optional = {
    ttftMs: ttft(trace),
    ttftParts: ttftParts(trace),
    tpotMs: tpot(trace),
    e2eMs: e2e(trace),
    prefillTokensPerSecond: prefillRate(trace),
  };
  return {
    index,
    warmUp,
    hidden: trace.hidden,
    promptTokens: trace.usage.promptTokens,
    cachedTokens: trace.usage.cachedTokens,
    outputTokens: trace.usage.completionTokens,
    finishReason,
    itlMs: itl(trace),
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as Partial<Sample>),
    calledMs: trace.marks.calledMs - runStartMs,
    tokenTimesMs: trace.tokenTimesMs.map((atMs) => atMs - runStartMs),
    text,
    ids,
  };
}
