import { percentile } from '../metrics/percentile.ts';

/** How evenly the machine runs a piece of work that is always the same. */
export interface MachineNoise {
  /** p95 / p50 of its duration: 1 on a quiet machine. */
  spread: number;
  n: number;
}

/** Beyond this the machine does other things meanwhile. */
export const NOISY_SPREAD = 1.5;

const ROUNDS = 40;

/** Takes some 100 ms of the calling thread; to be called while nothing is measured. */
export function measureNoise(now: () => number = () => performance.now()): MachineNoise {
  // The least of three: one that was interrupted would make the work look larger than it is.
  const leastMs = (work: number): number => Math.min(timeWork(work, now), timeWork(work, now), timeWork(work, now));
  let work = 1000;
  while (leastMs(work) < 2 && work < 1e8) work *= 2;
  const times = Array.from({ length: ROUNDS }, () => timeWork(work, now));
  return { spread: percentile(times, 95)! / percentile(times, 50)!, n: ROUNDS };
}

let sink = 0;

function timeWork(work: number, now: () => number): number {
  const startMs = now();
  let value = sink;
  for (let step = 0; step < work; step++) value = (Math.imul(value, 1664525) + 1013904223) | 0;
  sink = value; // read in the next round, so that the loop is not optimised away
  return now() - startMs;
}
