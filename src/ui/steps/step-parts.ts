import type { RecordedStep } from '../../runtime/metrics/trace-log.ts';
import type { Part } from '../parts-bar/parts-bar.ts';

/** Where the step computes: on a CPU the call of the session is the computation, on a GPU it only hands work over. */
export type StepDevice = 'gpu' | 'cpu';

/** Parts of one step as they are stacked, in order of time. */
export const STEP_PART_KEYS = ['host', 'compute', 'readback', 'sample', 'rest'] as const;
export type StepPartKey = (typeof STEP_PART_KEYS)[number];

export const STEP_PART_LABELS: Readonly<Record<StepPartKey, string>> = {
  host: 'Host',
  compute: 'Compute',
  readback: 'Readback',
  sample: 'Sample',
  rest: 'Unexplained',
};

/**
 * What one token waited for, ms, from the end of the step before: parts that were not measured are absent, and what they leave is
 * `rest`. Where steps overlap, the earlier parts of a step were hidden behind the one before, so time is given out from the end backwards.
 */
export function stepParts({ step, window }: RecordedStep, device: StepDevice): Partial<Record<StepPartKey, number>> {
  const { encodeMs, submitMs, gpuMs, readbackMs, sampleMs } = step.timing;
  let openMs = window.ownMs;
  const take = (ms: number): number => {
    const taken = Math.min(Math.max(0, ms), openMs);
    openMs -= taken;
    return taken;
  };
  const sample = sampleMs === undefined ? undefined : take(sampleMs);
  const readback = device === 'cpu' || readbackMs === undefined ? undefined : take(readbackMs);
  const computeMs = device === 'cpu' ? submitMs : gpuMs;
  const compute = computeMs === undefined ? undefined : take(computeMs);
  const recordMs = sumOf(encodeMs, device === 'gpu' ? submitMs : undefined);
  const host = window.gapMs + take(recordMs);
  return {
    host,
    ...(compute !== undefined && { compute }),
    ...(readback !== undefined && { readback }),
    ...(sample !== undefined && { sample }),
    rest: openMs,
  };
}

/** For a `<tg-parts-bar>`. */
export const namedStepParts = (parts: Partial<Record<StepPartKey, number>>): Part[] =>
  STEP_PART_KEYS.map((key) => ({ key, label: STEP_PART_LABELS[key], ms: parts[key] }));

const sumOf = (...values: (number | undefined)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
