import type { StepTiming } from '../../shared/trace.ts';
import type { RecordedStep } from './trace-log.ts';

/** The parts of a step that a backend measures, in the order in which they happen. */
export const TIMED_PARTS = [
  'encodeMs',
  'submitMs',
  'gpuMs',
  'readbackMs',
  'sampleMs',
] as const satisfies readonly (keyof StepTiming)[];
export type TimedPart = (typeof TIMED_PARTS)[number];

/** Alone, a step's parts follow each other; what is measured last is surest, so rounding is taken from the start. */
const ALONE: readonly TimedPart[] = TIMED_PARTS.toReversed();
/** In flight together, the wait behind the step before is within readback, and what the device did in the window comes first. */
const TOGETHER: readonly TimedPart[] = ['sampleMs', 'gpuMs', 'readbackMs', 'submitMs', 'encodeMs'];

/** Measured parts of a step as far as they lie in its own window, ms, and what they leave of it. What was hidden behind the step before is 0. */
export function partsInWindow({ step, window }: Pick<RecordedStep, 'step' | 'window'>): {
  parts: Partial<Record<TimedPart, number>>;
  restMs: number;
} {
  const parts: Partial<Record<TimedPart, number>> = {};
  let restMs = window.ownMs;
  for (const part of window.overlaps ? TOGETHER : ALONE) {
    const measuredMs = step.timing[part];
    if (measuredMs === undefined) continue;
    const shownMs = Math.min(Math.max(0, measuredMs), restMs);
    parts[part] = shownMs;
    restMs -= shownMs;
  }
  return { parts, restMs };
}
