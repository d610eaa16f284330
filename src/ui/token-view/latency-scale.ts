import { percentile } from '../../runtime/metrics/percentile.ts';

/** How long a token took beside the others of its answer. */
export type LatencyLevel = 'first' | 'usual' | 'slower' | 'slow' | 'stall';

/** From a level on, ms. */
export interface LatencyScale {
  slowerMs: number;
  slowMs: number;
  stallMs: number;
}

/** Multiples of the median: what sticks out of this answer, on a fast device as on a slow one. */
const MULTIPLES = { slower: 1.5, slow: 3, stall: 6 } as const;

/** Relative to the median of these gaps; absent for none, and where they take no time. */
export function latencyScale(gapsMs: readonly number[]): LatencyScale | undefined {
  const median = percentile(gapsMs, 50);
  if (median === undefined || median <= 0) return undefined;
  return { slowerMs: median * MULTIPLES.slower, slowMs: median * MULTIPLES.slow, stallMs: median * MULTIPLES.stall };
}

/** A token without a gap is the first, whose wait is TTFT. */
export function levelOf(gapMs: number | undefined, scale: LatencyScale | undefined): LatencyLevel {
  if (gapMs === undefined) return 'first';
  if (!scale || gapMs <= scale.slowerMs) return 'usual';
  if (gapMs <= scale.slowMs) return 'slower';
  return gapMs <= scale.stallMs ? 'slow' : 'stall';
}
