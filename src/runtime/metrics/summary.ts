import { percentileOfSorted, sortedSamples } from './percentile.ts';

/** What is said of a set of samples; the percentiles are absent when there are none. There is no mean: it hides what a user feels. */
export interface Summary {
  /** Samples that were counted. Always shown beside the percentiles. */
  n: number;
  p50?: number;
  p95?: number;
  p99?: number;
  max?: number;
}

/** @throws RangeError for a sample that is no number */
export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) return { n: 0 };
  const sorted = sortedSamples(samples);
  return {
    n: sorted.length,
    p50: percentileOfSorted(sorted, 50)!,
    p95: percentileOfSorted(sorted, 95)!,
    p99: percentileOfSorted(sorted, 99)!,
    max: sorted.at(-1)!,
  };
}

/** Traces whose times count: browsers slow a hidden page down, so those stay out of percentiles. */
export const visibleOnly = <Trace extends { hidden: boolean }>(traces: readonly Trace[]): Trace[] =>
  traces.filter(({ hidden }) => !hidden);
