import type { Clock } from '../../../shared/clock.ts';

/** A time of fewer steps of the clock than this is not measured, but guessed. */
export const LEAST_TICKS = 20;

/**
 * Smallest step of a clock, ms: browsers round it to between 5 us and 100 ms against timing attacks. `Infinity` if it did not move while
 * it was watched.
 */
export function timerResolutionMs(clock: Clock): number {
  let smallestMs = Infinity;
  let changes = 0;
  let lastMs = clock.now();
  for (let i = 0; i < 400_000 && changes < 40; i++) {
    const nowMs = clock.now();
    if (nowMs === lastMs) continue;
    if (nowMs > lastMs) smallestMs = Math.min(smallestMs, nowMs - lastMs);
    lastMs = nowMs;
    changes += 1;
  }
  return smallestMs;
}

/** Why a duration is not given, for people; nothing if it can be. */
export function tooCoarse(durationMs: number, resolutionMs: number): string | undefined {
  if (durationMs > 0 && durationMs >= LEAST_TICKS * resolutionMs) return undefined;
  const tick = Number.isFinite(resolutionMs)
    ? `moves in steps of ${Number(resolutionMs.toPrecision(2))} ms`
    : 'stands still';
  return `The clock of this browser ${tick}, too coarse for ${Number(Math.max(0, durationMs).toPrecision(2))} ms`;
}
