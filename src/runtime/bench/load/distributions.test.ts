import { expect } from 'chai';
import { percentile } from '../../metrics/percentile.ts';
import { createRandom } from '../stats/random.ts';
import { KS_CRITICAL_1_PERCENT, kolmogorovSmirnov, normalCdf } from '../testing/kolmogorov-smirnov.ts';
import { planArrivals } from './arrivals.ts';
import { checkLengths, drawLength, drawTokens, type LengthDistribution } from './lengths.ts';

const N = 2000;
const SEEDS = [1, 2, 3, 12345];

const lengths = (distribution: LengthDistribution, seed: number): number[] => {
  const random = createRandom(seed, 'prompt lengths');
  return Array.from({ length: N }, () => drawLength(distribution, random));
};
const gaps = (times: readonly number[]): number[] => times.slice(1).map((atMs, index) => atMs - times[index]!);
const exponentialCdf = (mean: number) => (x: number) => 1 - Math.exp(-x / mean);
/** Gamma of shape 1/2 and of shape 2 have closed forms. */
const gammaHalfCdf = (mean: number) => (x: number) => 2 * normalCdf(Math.sqrt(x / mean)) - 1;
const gammaTwoCdf = (mean: number) => (x: number) => 1 - Math.exp((-2 * x) / mean) * (1 + (2 * x) / mean);

describe('drawLength', () => {
  it('drawLength: exponential lengths pass Kolmogorov-Smirnov at 1 %', () => {
    for (const seed of SEEDS) {
      const drawn = lengths({ kind: 'exponential', mean: 128 }, seed);
      expect(kolmogorovSmirnov(drawn, exponentialCdf(128)), `seed ${seed}`).to.be.below(KS_CRITICAL_1_PERCENT);
      expect(kolmogorovSmirnov(drawn, exponentialCdf(145)), 'another mean is told apart').to.be.above(
        KS_CRITICAL_1_PERCENT,
      );
    }
  });

  it('drawLength: lognormal lengths of mean 128 and p99 512 pass Kolmogorov-Smirnov at 1 %', () => {
    // Solved independently of the code: exp(mu + s^2 / 2) = 128 and exp(mu + 2.3263479 s) = 512.
    const [mu, sigma] = [4.605801023552364, 0.7017538605055951];
    expect(Math.exp(mu + sigma ** 2 / 2)).to.be.closeTo(128, 1e-9);
    expect(Math.exp(mu + 2.3263478740408408 * sigma)).to.be.closeTo(512, 1e-9);
    const cdf = (x: number): number => normalCdf((Math.log(x) - mu) / sigma);
    for (const seed of SEEDS)
      expect(
        kolmogorovSmirnov(lengths({ kind: 'lognormal', mean: 128, p99: 512 }, seed), cdf),
        `seed ${seed}`,
      ).to.be.below(KS_CRITICAL_1_PERCENT);
  });

  it('drawLength: no lognormal has a p99 below its mean or beyond 14.9 times it', () => {
    for (const p99 of [100, 128, 2000])
      expect(() => checkLengths({ kind: 'lognormal', mean: 128, p99 }, 'prompt')).to.throw(RangeError, /no lognormal/);
    expect(() => checkLengths({ kind: 'lognormal', mean: 128, p99: 1900 }, 'prompt')).not.to.throw();
  });

  it('drawTokens: uniform lengths hit both ends alike; empirical ones are those of the file; all are whole and at least 1', () => {
    const random = createRandom(7, 'x');
    const counts = new Map<number, number>();
    for (let draw = 0; draw < 4000; draw++) {
      const tokens = drawTokens({ kind: 'uniform', min: 3, max: 6 }, random);
      counts.set(tokens, (counts.get(tokens) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).to.deep.equal([3, 4, 5, 6]);
    for (const count of counts.values()) expect(count).to.be.within(900, 1100); // 3.6 standard errors
    const file = { kind: 'empirical', name: 'x', lengths: [5, 900] } as const;
    expect(new Set(Array.from({ length: 50 }, () => drawTokens(file, random)))).to.deep.equal(new Set([5, 900]));
    const short = Array.from({ length: 500 }, () => drawTokens({ kind: 'exponential', mean: 1 }, random));
    expect(short.every((tokens) => Number.isInteger(tokens) && tokens >= 1)).to.equal(true);
  });
});

describe('planArrivals', () => {
  it('planArrivals: Poisson gaps pass Kolmogorov-Smirnov at 1 %, and are not those of another process', () => {
    for (const seed of SEEDS) {
      const drawn = gaps(planArrivals({ process: 'poisson', ratePerSecond: 4 }, N, seed));
      expect(kolmogorovSmirnov(drawn, exponentialCdf(250)), `seed ${seed}`).to.be.below(KS_CRITICAL_1_PERCENT);
      expect(kolmogorovSmirnov(drawn, gammaTwoCdf(250))).to.be.above(KS_CRITICAL_1_PERCENT);
    }
  });

  it('planArrivals: gamma gaps pass Kolmogorov-Smirnov at 1 %, bursty and even', () => {
    for (const seed of SEEDS)
      for (const [burstiness, cdf] of [
        [0.5, gammaHalfCdf(250)],
        [2, gammaTwoCdf(250)],
      ] as const) {
        const drawn = gaps(planArrivals({ process: 'gamma', ratePerSecond: 4, burstiness }, N, seed));
        expect(kolmogorovSmirnov(drawn, cdf), `seed ${seed}`).to.be.below(KS_CRITICAL_1_PERCENT);
        expect(kolmogorovSmirnov(drawn, exponentialCdf(250))).to.be.above(KS_CRITICAL_1_PERCENT);
      }
  });

  it('planArrivals: realises the asked rate within 1 % over 200 arrivals, whatever the process and seed', () => {
    for (const seed of [...SEEDS, 99, 100])
      for (const arrivals of [
        { process: 'constant', ratePerSecond: 0.7 },
        { process: 'poisson', ratePerSecond: 0.7 },
        { process: 'gamma', ratePerSecond: 0.7, burstiness: 0.25 },
      ] as const) {
        const times = planArrivals(arrivals, 200, seed);
        expect(times).to.have.lengthOf(200);
        expect(times[0]).to.equal(0);
        expect((199 / times.at(-1)!) * 1000, arrivals.process).to.be.closeTo(0.7, 0.007);
      }
  });

  it('planArrivals: a ramp has its rate at both ends, and its mean over all', () => {
    const times = planArrivals({ process: 'ramp', fromRatePerSecond: 1, toRatePerSecond: 5 }, 3000, 5);
    const rateIn = (from: number, to: number): number =>
      times.filter((atMs) => atMs >= from && atMs < to).length / ((to - from) / 1000);
    expect(times.at(-1)! / 1000).to.be.closeTo(1000, 2);
    expect(rateIn(0, 100_000)).to.be.closeTo(1.2, 0.35); // from 1 to 1.4 in the first tenth; 3 standard errors
    expect(rateIn(900_000, 1_000_000)).to.be.closeTo(4.8, 0.7);
    expect(times.every((atMs, index) => index === 0 || atMs >= times[index - 1]!)).to.equal(true);
  });

  it('planArrivals: the same seed plans the same, another plans another', () => {
    const plan = (seed: number): number[] => planArrivals({ process: 'poisson', ratePerSecond: 1 }, 20, seed);
    expect(plan(1)).to.deep.equal(plan(1));
    expect(plan(1)).not.to.deep.equal(plan(2));
  });
});

describe('createRandom', () => {
  it('createRandom: is uniform, and streams of other names and seeds are independent', () => {
    for (const seed of [0, 1, 2 ** 32 - 1]) {
      const random = createRandom(seed, 'a');
      expect(kolmogorovSmirnov(Array.from({ length: N }, random), (x) => x)).to.be.below(KS_CRITICAL_1_PERCENT);
    }
    const [a, b] = [createRandom(1, 'a'), createRandom(1, 'b')];
    const correlation =
      Array.from({ length: N }, () => (a() - 0.5) * (b() - 0.5) * 12).reduce((sum, x) => sum + x, 0) / N;
    expect(Math.abs(correlation)).to.be.below(0.08); // 3.5 standard errors
    expect(percentile(Array.from({ length: N }, createRandom(1, 'a')), 50)).not.to.equal(
      percentile(Array.from({ length: N }, createRandom(2, 'a')), 50),
    );
  });
});
