/**
 * The p-th percentile of raw samples by linear interpolation between closest ranks (numpy's default; Hyndman and Fan, "Sample
 * quantiles in statistical packages", 1996, definition 7). Absent for no samples.
 * @param p from 0 to 100
 * @throws RangeError for another p, or a sample that is no number
 */
export function percentile(samples: readonly number[], p: number): number | undefined {
  return percentileOfSorted(sortedSamples(samples), p);
}

/** {@link percentile} of samples that are sorted already, for several percentiles of the same ones. */
export function percentileOfSorted(sorted: ArrayLike<number>, p: number): number | undefined {
  if (!(p >= 0 && p <= 100)) throw new RangeError(`Cannot take percentile ${p}: it is not from 0 to 100`);
  if (sorted.length === 0) return undefined;
  const rank = (p / 100) * (sorted.length - 1);
  const below = Math.floor(rank);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (rank - below);
}

/** A sorted copy. @throws RangeError for a sample that is no number: NaN sorts last and would pass for the largest */
export function sortedSamples(samples: readonly number[]): Float64Array {
  const sorted = Float64Array.from(samples).sort();
  if (Number.isNaN(sorted.at(-1))) throw new RangeError('Cannot take a percentile: a sample is not a number');
  return sorted;
}
