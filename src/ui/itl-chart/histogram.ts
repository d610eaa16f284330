/** Samples counted in bins of equal width. */
export interface Histogram {
  /** Lower edge of each bin, ms. */
  fromMs: number[];
  counts: number[];
  widthMs: number;
  /** Samples at or above the end of the last bin, which is where its count is put as well. */
  beyond: number;
}

/** Of so few samples, the largest is no exception. */
const FEW = 50;
const NICE = [1, 2, 2.5, 5, 10] as const;

/** A round number at or above `value`. */
function niceAbove(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  return (NICE.find((step) => step * magnitude >= value * 0.999) ?? 10) * magnitude;
}

/**
 * Bins of a round width from 0 to beyond the 99th percentile; the few samples after that are counted in the last bin, as one stall would else
 * press all others into the first. Empty for no samples.
 *
 * @param sortedMs - ascending
 * @param bins - at most this many
 */
export function histogram(sortedMs: ArrayLike<number>, bins = 40): Histogram {
  const n = sortedMs.length;
  if (n === 0) return { fromMs: [], counts: [], widthMs: 0, beyond: 0 };
  const max = sortedMs[n - 1]!;
  const nearlyAll = n < FEW ? max : sortedMs[Math.floor(0.99 * (n - 1))]! * 1.25;
  const endMs = Math.max(Math.min(max, nearlyAll), 1e-3);
  const widthMs = niceAbove(endMs / bins);
  const count = Math.floor(endMs / widthMs) + 1;
  const counts = new Array<number>(count).fill(0);
  let beyond = 0;
  for (let at = 0; at < n; at += 1) {
    const bin = Math.floor(Math.max(0, sortedMs[at]!) / widthMs);
    if (bin >= count) beyond += 1;
    counts[Math.min(bin, count - 1)]! += 1;
  }
  return { fromMs: counts.map((_, bin) => bin * widthMs), counts, widthMs, beyond };
}
