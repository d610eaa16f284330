import { createRandom, exponential, gamma } from '../stats/random.ts';

/** Requests that come whether or not the last one was answered. */
export type OpenArrivals =
  /** One every 1 / rate. */
  | { process: 'constant'; ratePerSecond: number }
  | { process: 'poisson'; ratePerSecond: number }
  /** Gaps are gamma with shape `burstiness`: 1 is Poisson, below comes in bursts, above is more even. */
  | { process: 'gamma'; ratePerSecond: number; burstiness: number }
  /** Poisson with a rate that goes linearly from one to the other over the run. */
  | { process: 'ramp'; fromRatePerSecond: number; toRatePerSecond: number }
  /** Arrivals (and lengths) of a recorded trace. */
  | { process: 'trace'; name: string; requests: number; speed: number };

/** Users who each wait for their answer, think, and ask again. */
export interface ClosedArrivals {
  process: 'closed-loop';
  users: number;
  thinkTimeMs: number;
}

export type Arrivals = ClosedArrivals | OpenArrivals;
type PlannedArrivals = Exclude<OpenArrivals, { process: 'trace' }>;

/** Requests per second that are asked for, over the whole run; absent where the load sets its own (closed loop) or a file does. */
export function askedRate(arrivals: Arrivals): number | undefined {
  switch (arrivals.process) {
    case 'closed-loop':
    case 'trace':
      return undefined;
    case 'ramp':
      return (arrivals.fromRatePerSecond + arrivals.toRatePerSecond) / 2;
    default:
      return arrivals.ratePerSecond;
  }
}

/**
 * Times of `count` arrivals, ms from the start; the first comes at 0. Random gaps are scaled so that the asked rate is realised exactly:
 * (count - 1) gaps in (count - 1) / rate. Without that, 200 Poisson arrivals would miss their rate by 7 % (one standard error), and two
 * runs at one rate would be two loads.
 */
export function planArrivals(arrivals: PlannedArrivals, count: number, seed: number): number[] {
  const random = createRandom(seed, 'arrivals');
  const rate = askedRate(arrivals)!;
  const gapMs = 1000 / rate;
  if (arrivals.process === 'constant') return Array.from({ length: count }, (_, index) => index * gapMs);
  const draw =
    arrivals.process === 'gamma'
      ? () => gamma(random, arrivals.burstiness, gapMs / arrivals.burstiness)
      : () => exponential(random, gapMs);
  const even = scaled(Array.from({ length: Math.max(0, count - 1) }, draw), gapMs);
  if (arrivals.process !== 'ramp') return even.slice(0, count);
  const spanMs = count * gapMs;
  return even.slice(0, count).map((atMs) => rampTime(arrivals, atMs, spanMs));
}

/** Running sums from 0, scaled so that the gaps are `meanMs` in the mean. */
function scaled(gaps: readonly number[], meanMs: number): number[] {
  const sum = gaps.reduce((total, gap) => total + gap, 0);
  const factor = sum > 0 ? (gaps.length * meanMs) / sum : 1;
  const times = [0];
  for (const gap of gaps) times.push(times.at(-1)! + gap * factor);
  return times;
}

/** When a ramp has brought as many arrivals as its mean rate would have by `atMs`: the inverse of the integral of the rate. */
function rampTime(ramp: { fromRatePerSecond: number; toRatePerSecond: number }, atMs: number, spanMs: number): number {
  const { fromRatePerSecond: from, toRatePerSecond: to } = ramp;
  const share = ((from + to) / 2) * (atMs / spanMs); // of: from * x + (to - from) * x^2 / 2, with x in [0, 1]
  const slope = to - from;
  const x = Math.abs(slope) < 1e-12 ? share / from : (Math.sqrt(from ** 2 + 2 * slope * share) - from) / slope;
  return x * spanMs;
}

/** @throws RangeError in words */
export function checkArrivals(arrivals: Arrivals): void {
  const check = (value: number, name: string, isRight: (value: number) => boolean, wanted: string): void => {
    if (!(Number.isFinite(value) && isRight(value)))
      throw new RangeError(`Cannot plan arrivals: ${name} is ${value}; give ${wanted}`);
  };
  const positive = (value: number, name: string): void => check(value, name, (given) => given > 0, 'a number above 0');
  switch (arrivals.process) {
    case 'closed-loop':
      check(
        arrivals.users,
        'the number of users',
        (value) => Number.isInteger(value) && value >= 1,
        'a whole number of at least 1',
      );
      check(arrivals.thinkTimeMs, 'the think time', (value) => value >= 0, 'a number of at least 0');
      return;
    case 'ramp':
      check(arrivals.fromRatePerSecond, 'the rate at the start', (value) => value >= 0, 'a number of at least 0');
      positive(arrivals.toRatePerSecond, 'the rate at the end');
      return;
    case 'trace':
      positive(arrivals.speed, 'the speed');
      return;
    case 'gamma':
      positive(arrivals.burstiness, 'the burstiness');
      positive(arrivals.ratePerSecond, 'the rate');
      return;
    default:
      positive(arrivals.ratePerSecond, 'the rate');
      return;
  }
}

/** Four figures: rates of a search have many more. */
const rate = (perSecond: number): number => Number(perSecond.toPrecision(4));

/** In words, short: what a table says. */
export function describeArrivals(arrivals: Arrivals): string {
  switch (arrivals.process) {
    case 'closed-loop': {
      const think = arrivals.thinkTimeMs ? `, ${arrivals.thinkTimeMs / 1000} s think time` : '';
      return `closed loop, ${arrivals.users} ${arrivals.users === 1 ? 'user' : 'users'}${think}`;
    }
    case 'ramp':
      return `open loop, ramp from ${rate(arrivals.fromRatePerSecond)} to ${rate(arrivals.toRatePerSecond)} req/s`;
    case 'trace':
      return `replay of ${arrivals.name} (${arrivals.requests} requests${arrivals.speed === 1 ? '' : `, ${arrivals.speed} x speed`})`;
    case 'gamma':
      return `open loop, gamma, ${rate(arrivals.ratePerSecond)} req/s, burstiness ${arrivals.burstiness}`;
    default:
      return `open loop, ${arrivals.process}, ${rate(arrivals.ratePerSecond)} req/s`;
  }
}
