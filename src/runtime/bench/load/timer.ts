import { abortError } from '../../../shared/errors.ts';
import { systemClock, type Clock } from '../../../shared/clock.ts';

/** A clock that can also be waited on. Injected, so that a simulated run takes no time and is exact. */
export interface Timer extends Clock {
  /** Resolves once `now()` is at least `atMs`. @throws AbortError once the signal is aborted */
  sleepUntil(atMs: number, signal?: AbortSignal): Promise<void>;
}

/** `setTimeout`, repeated until the time has really come: browsers round delays. */
export const systemTimer: Timer = {
  now: () => systemClock.now(),
  async sleepUntil(atMs, signal) {
    for (;;) {
      if (signal?.aborted) throw abortError(signal);
      const leftMs = atMs - systemClock.now();
      if (leftMs <= 0) return;
      await sleep(leftMs, signal);
    }
  },
};

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
    signal?.addEventListener('abort', end);
  });
}
