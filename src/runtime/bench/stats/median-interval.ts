import { percentile, percentileOfSorted, sortedSamples } from '../../metrics/percentile.ts';
import { createRandom, type Random } from './random.ts';

/** An estimate with the limits of its 95 % confidence interval. */
export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** Resamples: 2000 as is usual, fewer (at least 200) where there are so many values that a page would stand still. */
const resamples = (values: number): number => Math.round(Math.min(2000, Math.max(200, 2e7 / values)));

/**
 * Resamples that are drawn with replacement, by requests: the gaps of one request are alike, so they are drawn together. One group per
 * request, of one value for a figure of requests.
 */
function resampledMedians(groups: readonly (readonly number[])[], count: number, random: Random): number[] {
  return Array.from({ length: count }, () => {
    const drawn: number[] = [];
    for (let index = 0; index < groups.length; index++) {
      const group = groups[Math.floor(random() * groups.length)]!;
      for (const value of group) drawn.push(value);
    }
    return percentile(drawn, 50)!;
  });
}

const interval = (value: number, estimates: readonly number[]): Interval => {
  const sorted = sortedSamples(estimates);
  return { value, low: percentileOfSorted(sorted, 2.5)!, high: percentileOfSorted(sorted, 97.5)! };
};

/** Medians of two sets and their ratio, each with its 95 % interval (percentile bootstrap; Efron and Tibshirani, 1993). */
export interface MedianComparison {
  a: Interval;
  b: Interval;
  /** Median of b / median of a. */
  ratio: Interval;
}

/** Absent where either set is empty, or the median of `a` is 0. Seeded: the same samples give the same interval. */
export function compareMedians(
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
  seed = 1,
): MedianComparison | undefined {
  const [medianA, medianB] = [percentile(a.flat(), 50), percentile(b.flat(), 50)];
  if (medianA === undefined || medianB === undefined || medianA === 0) return undefined;
  const [groupsA, groupsB] = [a, b].map((groups) => groups.filter(({ length }) => length > 0));
  const count = resamples(Math.max(a.flat().length, b.flat().length));
  const mediansA = resampledMedians(groupsA!, count, createRandom(seed, 'bootstrap-a'));
  const mediansB = resampledMedians(groupsB!, count, createRandom(seed, 'bootstrap-b'));
  const ratios = mediansA.flatMap((median, index) => (median === 0 ? [] : [mediansB[index]! / median]));
  return {
    a: interval(medianA, mediansA),
    b: interval(medianB, mediansB),
    ratio: interval(medianB / medianA, ratios),
  };
}
