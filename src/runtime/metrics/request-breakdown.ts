import type { RequestTrace, StepTiming } from '../../shared/trace.ts';
import { e2e } from './e2e.ts';
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
  /** What is left of `totalMs`; absent if that is 1 ms or less. */
  unexplainedMs?: number;
}

/** Differences up to this are rounding of clocks, ms. */
export const EXPLAINED_WITHIN_MS = 1;

/** The parts of a step in the order in which they happen. */
const STEP_PARTS = [
  'encodeMs',
  'submitMs',
  'gpuMs',
  'readbackMs',
  'sampleMs',
] as const satisfies readonly (keyof StepTiming)[];
type StepPart = (typeof STEP_PARTS)[number];

/**
 * Splits a request by its marks and by the steps that ran in it. A step in flight together with the one before it counts from the end of
 * that one; its parts are taken from its end backwards, as those at its start were hidden.
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
  return { ...breakdown, prefill, decode, deliveryMs, ...unexplained(restMs) };
}

/** The time from `fromMs` to `toMs`, covered by steps and by what lies between them. */
function stretch(steps: readonly RecordedStep[], fromMs: number, toMs: number): StepStretch {
  const sums: Partial<Record<StepPart, number>> = {};
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
    let openMs = endMs - startMs;
    for (const part of STEP_PARTS.toReversed()) {
      const measuredMs = step.timing[part];
      if (measuredMs === undefined) continue;
      const shownMs = Math.min(Math.max(0, measuredMs), openMs);
      sums[part] = (sums[part] ?? 0) + shownMs;
      openMs -= shownMs;
    }
    restMs += openMs;
  }
  betweenMs += Math.max(0, toMs - sinceMs);
  return { steps: count, totalMs: Math.max(0, toMs - fromMs), ...sums, betweenMs, ...unexplained(restMs) };
}

const unexplained = (ms: number): { unexplainedMs?: number } =>
  Math.abs(ms) > EXPLAINED_WITHIN_MS ? { unexplainedMs: ms } : {};
