/** A source of time. Injected wherever time is read, so that tests are exact. */
export interface Clock {
  /** Milliseconds since the Unix epoch, monotonic within one realm and comparable between page and worker. */
  now(): number;
}

/** `performance.timeOrigin + performance.now()`: one monotonic clock for the page and its workers. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
};
