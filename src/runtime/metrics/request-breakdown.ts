import type { RequestTrace } from '../../shared/trace.ts';
import { e2e } from './e2e.ts';
import { partsInWindow, TIMED_PARTS, type TimedPart } from './parts-in-window.ts';
import type { RecordedStep } from './trace-log.ts';

/** What a stretch of steps was spent on, ms; a part that the backend does not tell apart is absent and in `unexplainedMs`. */
export interface StepStretch {
  /** Steps that ended in it. */
  steps: number;
  totalMs: number;
  encodeMs?: number;
  submitMs?: number;
  gpuMs?: number;
  readbackMs?: number;
  sampleMs?: number;
  /** On the CPU between steps: decoding text, stop strings, scheduling, and waiting for others where the steps are not its own. */
  betweenMs: number;
  /** What the parts do not add up to; absent if that is 1 ms or less. */
  unexplainedMs?: number;
}

/** Where the end-to-end latency of one request went, ms. Parts add up to `totalMs` within 1 ms, `unexplainedMs` among them. */
export interface RequestBreakdown {
  /** End-to-end: from the call to the last delta. */
  totalMs: number;
  queueMs?: number;
  /** Chat template and tokenizer. */
  tokenizeMs?: number;
  /** Prefix cache: look-up and restore. */
  cacheMs?: number;
  /** From there to the first token. */
  prefill: StepStretch;
  /** From the first token to the last. */
  decode: StepStretch;
  /** From the last token's id to its text at the caller. */
  deliveryMs: number;
  /** Of what lies between steps: token ids to text, and stop strings. Not a part of its own; absent where the engine does not tell it. */
  detokenizeMs?: number;
  /** What is left of `totalMs`; absent if that is 1 ms or less. */
  unexplainedMs?: number;
}

/** Differences up to this are rounding of clocks, ms. */
export const EXPLAINED_WITHIN_MS = 1;

/**
 * Splits a request by its marks and by the steps that ran in it. A step in flight together with the one before it counts from the end of
 * that one, with what of its parts was not hidden.
 *
 * @param steps that ended while it ran, oldest first (`TraceLog.stepsOf`)
 * @returns nothing if no token or no delta came
 */
export function requestBreakdown(trace: RequestTrace, steps: readonly RecordedStep[]): RequestBreakdown | undefined {
  const { marks } = trace;
  const totalMs = e2e(trace);
  const { calledMs, firstTokenMs, lastTokenMs } = marks;
  if (totalMs === undefined || firstTokenMs === undefined || lastTokenMs === undefined) return undefined;
  const breakdown: Partial<RequestBreakdown> & { totalMs: number } = { totalMs };
  let sinceMs = calledMs;
  const before = [
    ['queueMs', marks.startedMs],
    ['tokenizeMs', marks.tokenizedMs],
    ['cacheMs', marks.cacheReadyMs],
  ] as const;
  for (const [part, markMs] of before) {
    if (markMs === undefined) continue;
    const untilMs = Math.min(Math.max(markMs, sinceMs), firstTokenMs);
    breakdown[part] = untilMs - sinceMs;
    sinceMs = untilMs;
  }
  const prefill = stretch(steps, sinceMs, firstTokenMs);
  const decode = stretch(steps, firstTokenMs, lastTokenMs);
  const deliveryMs = Math.max(0, calledMs + totalMs - lastTokenMs);
  const { queueMs = 0, tokenizeMs = 0, cacheMs = 0 } = breakdown;
  const restMs = totalMs - queueMs - tokenizeMs - cacheMs - prefill.totalMs - decode.totalMs - deliveryMs;
  const { detokenizeMs } = trace;
  const told = detokenizeMs !== undefined && { detokenizeMs };
  return { ...breakdown, prefill, decode, deliveryMs, ...told, ...unexplained(restMs) };
}

/** The time from `fromMs` to `toMs`, covered by steps and by what lies between them. */
function stretch(steps: readonly RecordedStep[], fromMs: number, toMs: number): StepStretch {
  const sums: Partial<Record<TimedPart, number>> = {};
  let count = 0;
  let betweenMs = 0;
  let restMs = 0;
  let sinceMs = fromMs;
  for (const { step, window } of steps) {
    if (window.toMs <= sinceMs || window.fromMs >= toMs) continue;
    const startMs = Math.max(window.fromMs, sinceMs);
    const endMs = Math.min(window.toMs, toMs);
    betweenMs += startMs - sinceMs;
    sinceMs = endMs;
    count += 1;
    // A step at the edge of the stretch counts for what lies in it.
    const clipped = { ...window, fromMs: startMs, toMs: endMs, ownMs: endMs - startMs };
    const own = partsInWindow({ step, window: clipped });
    for (const part of TIMED_PARTS) {
      const ms = own.parts[part];
      if (ms !== undefined) sums[part] = (sums[part] ?? 0) + ms;
    }
    restMs += own.restMs;
  }
  betweenMs += Math.max(0, toMs - sinceMs);
  return { steps: count, totalMs: Math.max(0, toMs - fromMs), ...sums, betweenMs, ...unexplained(restMs) };
}

const unexplained = (ms: number): { unexplainedMs?: number } =>
  Math.abs(ms) > EXPLAINED_WITHIN_MS ? { unexplainedMs: ms } : {};
