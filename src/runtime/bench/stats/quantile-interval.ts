import { percentileOfSorted, sortedSamples } from '../../metrics/percentile.ts';
import type { Interval } from './median-interval.ts';

/**
 * 95 % confidence interval of a percentile from order statistics (binomial; Hahn and Meeker, "Statistical intervals", 5.2): it assumes no
 * distribution. Absent while there are too few samples for one: the upper limit of p95 needs 72.
 */
export function quantileInterval(samples: readonly number[], p: number): Interval | undefined {
  const sorted = sortedSamples(samples);
  const n = sorted.length;
  const q = p / 100;
  let low: number | undefined;
  let high: number | undefined;
  // P(B <= k) for B binomial(n, q), built up term by term in logarithms.
  let logTerm = n * Math.log1p(-q);
  let cumulative = 0;
  for (let k = 0; k <= n; k++) {
    const before = cumulative;
    cumulative += Math.exp(logTerm);
    if (before <= 0.025 && cumulative > 0.025) low = k; // rank k (from 1): P(B <= k - 1) <= 2.5 %
    if (high === undefined && cumulative >= 0.975) high = k + 1; // P(B >= k + 1) <= 2.5 %
    logTerm += Math.log((n - k) / (k + 1)) + Math.log(q / (1 - q));
  }
  if (low === undefined || low < 1 || high === undefined || high > n) return undefined;
  return { value: percentileOfSorted(sorted, p)!, low: sorted[low - 1]!, high: sorted[high - 1]! };
}

/** Half the width of the interval, as a share of the value; absent while there is no interval. */
export function relativeHalfWidth(samples: readonly number[], p: number): number | undefined {
  const found = quantileInterval(samples, p);
  return found && found.value > 0 ? (found.high - found.low) / 2 / found.value : undefined;
}
