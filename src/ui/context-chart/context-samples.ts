import { percentile } from '../../runtime/metrics/percentile.ts';

/** One decode step: how much it attended to, and how long its token took. */
export interface ContextSample {
  contextTokens: number;
  ms: number;
}

/** Columns of the chart, by context length. */
export interface ContextColumns {
  contextTokens: number[];
  ms: number[];
  /** Median of the samples around, at the middle one of each group; null elsewhere. */
  medianMs: (number | null)[];
}

/** Sorted by context length, with the median of each of `groups` groups of as many neighbours. */
export function contextColumns(samples: readonly ContextSample[], groups = 12): ContextColumns {
  const sorted = [...samples].sort((a, b) => a.contextTokens - b.contextTokens);
  const medianMs = new Array<number | null>(sorted.length).fill(null);
  const size = Math.max(9, Math.ceil(sorted.length / groups));
  for (let from = 0; from < sorted.length; from += size) {
    const group = sorted.slice(from, from + size);
    if (group.length < 3 && from > 0) continue;
    const median = percentile(
      group.map(({ ms }) => ms),
      50,
    );
    medianMs[from + Math.floor((group.length - 1) / 2)] = median ?? null;
  }
  return { contextTokens: sorted.map(({ contextTokens }) => contextTokens), ms: sorted.map(({ ms }) => ms), medianMs };
}
