import type { StepTiming } from '../../shared/trace.ts';
import { TraceLog, type RecordedStep } from '../../runtime/metrics/trace-log.ts';

/** Decode steps one after the other, each of `totalMs`, `gapMs` apart, the first from `fromMs`. */
export function recordedSteps(
  count: number,
  timing: Omit<StepTiming, 'totalMs'> & { totalMs: number },
  { fromMs = 1000, gapMs = 0 } = {},
): RecordedStep[] {
  const log = new TraceLog();
  for (let at = 0; at < count; at += 1)
    log.addStep({
      kind: 'decode',
      startedAtMs: fromMs + at * (timing.totalMs + gapMs),
      timing,
      batch: 1,
      tokens: 1,
      contextTokens: 20 + at,
    });
  return [...log.steps];
}
