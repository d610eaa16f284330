import type { StepTrace } from '../../shared/trace.ts';

/**
 * The stretch of time that a step alone accounts for. Steps may be in flight together (run-ahead), so that their `totalMs` overlap; the
 * windows of successive steps never do, and their sum is the time that passed.
 */
export interface StepWindow {
  /** Start of the step, or the end of the step before it if that is later (see `Clock`). */
  fromMs: number;
  /** The result was on the CPU. */
  toMs: number;
  /** `toMs - fromMs`. */
  ownMs: number;
  /**
   * Time between the end of the step before and the start of this one in which the engine had work, so that it is host time of this step's
   * tokens: text, scheduling, timers. 0 for a prefill, before which the engine may have been idle.
   */
  gapMs: number;
  /** True if the step was given while the one before it was in flight: part of its work is hidden behind that one. */
  overlaps: boolean;
}

/** When the result of a step was on the CPU (see `Clock`). */
export const stepEndMs = ({ startedAtMs, timing }: Pick<StepTrace, 'startedAtMs' | 'timing'>): number =>
  startedAtMs + timing.totalMs;

/** @param previousEndMs end of the latest step of the same engine; absent if there was none, or if time since then says nothing */
export function stepWindow(
  step: Pick<StepTrace, 'kind' | 'startedAtMs' | 'timing'>,
  previousEndMs?: number,
): StepWindow {
  const toMs = stepEndMs(step);
  const sinceMs = previousEndMs ?? step.startedAtMs;
  const fromMs = Math.min(Math.max(step.startedAtMs, sinceMs), toMs);
  return {
    fromMs,
    toMs,
    ownMs: toMs - fromMs,
    // A decode continues a sequence whose latest step ended before `sinceMs`, so the engine was never idle in between.
    gapMs: step.kind === 'decode' ? Math.max(0, step.startedAtMs - sinceMs) : 0,
    overlaps: step.startedAtMs < sinceMs,
  };
}
