import type { SchedulingPolicy } from '../../shared/info.ts';

/** What a policy comes to, as data. */
interface Policy {
  /** Requests that run at the same time, of those that the backend can. */
  maxRunning: number;
  /**
   * While others decode, a step may take this many times as long with a piece of a prompt in it as without: the piece is as large as fits, by
   * the measured cost of steps ({@link StepPace}). Infinite: it is as large as a step takes.
   */
  stretch: number;
}

/**
 * `balanced` aims at 2.5, as the promise is that the longest gap of a stream stays below 4 medians, and steps vary. A prompt then has 1.5 of
 * every 2.5 ms; with nobody streaming, all of them under each policy.
 */
export const POLICIES: Readonly<Record<SchedulingPolicy, Policy>> = {
  latency: { maxRunning: 1, stretch: Infinity },
  balanced: { maxRunning: Infinity, stretch: 2.5 },
  throughput: { maxRunning: Infinity, stretch: Infinity },
};

export const DEFAULT_POLICY: SchedulingPolicy = 'balanced';

/** Requests that wait before one more is refused, unless an engine is told otherwise. */
export const DEFAULT_MAX_QUEUED = 64;
