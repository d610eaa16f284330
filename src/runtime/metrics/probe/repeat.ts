import { measurementOf, type Measurement } from './device-probe.ts';
import { LEAST_TICKS, tooCoarse } from './timer.ts';

/** A number, or why there is none. */
export type Outcome = { measurement: Measurement } | { reason: string };

export interface RateOptions {
  timerResolutionMs: number;
  /** A repeat should take this long, ms. @default 25 */
  targetMs?: number;
  /** No repeat may take longer than about this, ms: the page, and watchdogs of drivers. @default 250 */
  longestMs?: number;
  /** @default 5 */
  repeats?: number;
  /** Most units of one repeat. @default 2^20 */
  mostUnits?: number;
}

/**
 * Rate of some work in units per ms: the amount of work is raised until a repeat takes long enough for the clock, then repeated.
 *
 * @param run does that many units, and resolves to the ms it took, what is constant taken off
 */
export async function measureRate(
  run: (units: number) => Promise<number>,
  { timerResolutionMs, targetMs = 25, longestMs = 250, repeats = 5, mostUnits = 2 ** 20 }: RateOptions,
): Promise<Outcome> {
  const neededMs = LEAST_TICKS * timerResolutionMs;
  const wantedMs = Math.max(targetMs, neededMs);
  if (wantedMs > longestMs) return { reason: tooCoarse(longestMs, timerResolutionMs)! };
  let units = 1;
  let ms = await run(units); // warm-up: first use of pipelines and memory
  for (let tries = 0; tries < 12; tries++) {
    ms = await run(units);
    if (ms >= wantedMs * 0.7 || units >= mostUnits) break;
    const factor = ms > timerResolutionMs ? Math.min(16, (1.1 * wantedMs) / ms) : 16;
    units = Math.min(mostUnits, Math.max(units + 1, Math.round(units * factor)));
  }
  const rates: number[] = [];
  for (let i = 0; i < repeats; i++) {
    ms = await run(units);
    const reason = tooCoarse(ms, timerResolutionMs);
    if (reason !== undefined) return { reason };
    rates.push(units / ms);
  }
  return { measurement: measurementOf(rates) };
}

/** {@link Measurement} in another unit. */
export const scaled = ({ value, spread, n }: Measurement, factor: number): Measurement => ({
  value: value * factor,
  spread,
  n,
});
