import type { StepTrace } from '../../../shared/trace.ts';
import { TraceLog } from '../trace-log.ts';
import { handMadeTrace } from './hand-made-trace.ts';

/** A time of the clock. */
export const EPOCH_MS = 1_700_000_000_000;

/** A step of all parts, that many ms after {@link EPOCH_MS}. */
export const stepAt = (atMs: number, totalMs: number, kind: StepTrace['kind'] = 'decode'): StepTrace => ({
  kind,
  startedAtMs: EPOCH_MS + atMs,
  timing: { totalMs, encodeMs: 1, submitMs: 0.5, gpuMs: totalMs - 3, readbackMs: 1 },
  batch: 1,
  tokens: kind === 'prefill' ? 24 : 1,
  contextTokens: 30,
  dispatches: 40,
});

/** A request with tokens at these ms, its text delivered 1 ms after the last. */
export const requestAt = (calledMs: number, tokens: readonly number[], requestId: string) => {
  const shifted = tokens.map((atMs) => EPOCH_MS + atMs);
  const marks = {
    calledMs: EPOCH_MS + calledMs,
    startedMs: EPOCH_MS + calledMs + 2,
    lastDeliveredMs: shifted.at(-1)! + 1,
  };
  return handMadeTrace(shifted, { requestId, marks });
};

/** A prefill, three decode steps, and their request `a`. */
export function filledLog(): TraceLog {
  const log = new TraceLog();
  log.addStep(stepAt(5, 20, 'prefill'));
  for (const atMs of [26, 36, 46]) log.addStep(stepAt(atMs, 9));
  log.addRequest({ outcome: 'completed', trace: requestAt(0, [25, 35, 45, 55], 'a') });
  return log;
}
