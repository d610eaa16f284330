import { expect } from 'chai';
import { gumbelBound, gumbelOf, MAX_GUMBEL, noise } from './gumbel.ts';
import { chiSquareDeviations, ONE_PERCENT } from './testing/random-cases.ts';

const COUNT = 1 << 18;
/** One of the three counters runs, or two do; the others are fixed. */
const SERIES: Readonly<Record<string, (i: number) => number>> = {
  token: (i) => noise(1, 100, i),
  'token, all else 0': (i) => noise(0, 0, i),
  position: (i) => noise(1, i, 7),
  seed: (i) => noise(i, 5, 7),
  'position and token': (i) => noise(42, i & 1023, i >> 10),
  'seed and position': (i) => noise(i & 255, i >> 8, 151935),
  'large seed': (i) => noise(0xffffffff, 3, i),
};

/** Deviations of `bins` equally likely values. */
function uniformDeviations(bins: number, value: (i: number) => number, count = COUNT): number {
  const counts = new Array<number>(bins).fill(0);
  for (let i = 0; i < count; i++) counts[value(i)]!++;
  return chiSquareDeviations(counts, new Array<number>(bins).fill(count / bins));
}

describe('noise', () => {
  it('noise: equals pcg3d as published', () => {
    // Worked by hand from the definition with 64-bit integers.
    const reference = (seed: bigint, position: bigint, token: bigint): number => {
      const mask = 0xffffffffn;
      let [x, y, z] = [token, position, seed].map((v) => (v * 1664525n + 1013904223n) & mask) as [
        bigint,
        bigint,
        bigint,
      ];
      const round = (): void => {
        x = (x + y * z) & mask;
        y = (y + z * x) & mask;
        z = (z + x * y) & mask;
      };
      round();
      x ^= x >> 16n;
      y ^= y >> 16n;
      z ^= z >> 16n;
      round();
      return Number(z);
    };
    for (const [seed, position, token] of [
      [0, 0, 0],
      [1, 2, 3],
      [0xffffffff, 0xffffffff, 0xffffffff],
      [123456789, 4096, 151935],
    ] as const) {
      expect(noise(seed, position, token)).to.equal(reference(BigInt(seed), BigInt(position), BigInt(token)));
    }
  });

  for (const [name, series] of Object.entries(SERIES)) {
    it(`noise: high bits are equally frequent, singly and in runs of three, along ${name} (chi-square)`, () => {
      // Fixed inputs, so a threshold that a fair generator passes once passes always; 2 x ONE_PERCENT is 1 in 600,000.
      expect(uniformDeviations(256, (i) => series(i) >>> 24)).to.be.lessThan(2 * ONE_PERCENT);
      expect(uniformDeviations(256, (i) => (series(i) >>> 16) & 255)).to.be.lessThan(2 * ONE_PERCENT);
      const triple = (i: number): number =>
        (series(i) >>> 28) * 256 + (series(i + 1) >>> 28) * 16 + (series(i + 2) >>> 28);
      expect(uniformDeviations(4096, triple)).to.be.lessThan(2 * ONE_PERCENT);
    });
  }

  it('noise: the least of 2048 tokens is distributed as it should be, which the tail of few bits decides (KS)', () => {
    const vocabSize = 2048;
    const rounds = 1000;
    const values = Array.from({ length: rounds }, (_, position) => {
      let least = 2 ** 32;
      for (let token = 0; token < vocabSize; token++) least = Math.min(least, noise(3, position, token));
      return 1 - (1 - (least + 0.5) / 2 ** 32) ** vocabSize;
    }).sort((a, b) => a - b);
    const distance = values.reduce(
      (most, value, i) => Math.max(most, Math.abs(value - i / rounds), Math.abs(value - (i + 1) / rounds)),
      0,
    );
    expect(distance * Math.sqrt(rounds)).to.be.lessThan(1.628); // 1 % level of Kolmogorov's distribution
  });
});

describe('gumbelOf', () => {
  it('gumbelOf: is finite at both ends and within the bound that lets tokens be skipped', () => {
    expect(gumbelOf(0)).to.be.closeTo(33 * Math.LN2, 1e-9);
    expect(gumbelOf(0)).to.be.lessThan(MAX_GUMBEL);
    expect(gumbelOf(0xffffffff)).to.be.closeTo(-Math.log(33 * Math.LN2), 1e-9);
  });

  it('gumbelBound: is never below gumbelOf, and at most 1.5 above it where winners come from', () => {
    for (let shift = 0; shift < 32; shift++) {
      for (const bits of [0, 1, 2 ** 31, 2 ** 32 - 1, noise(1, 2, shift)].map((x) => x >>> shift)) {
        expect(gumbelBound(bits)).to.be.at.least(gumbelOf(bits));
        if (bits > 0 && bits < 2 ** 30) expect(gumbelBound(bits) - gumbelOf(bits)).to.be.lessThan(1.5);
      }
    }
  });

  it('gumbelOf: has the mean and variance of the Gumbel distribution', () => {
    let sum = 0;
    let squares = 0;
    for (let i = 0; i < COUNT; i++) {
      const g = gumbelOf(noise(11, 12, i));
      sum += g;
      squares += g * g;
    }
    const mean = sum / COUNT;
    const variance = Math.PI ** 2 / 6;
    expect(mean).to.be.closeTo(0.5772156649, 3 * Math.sqrt(variance / COUNT));
    expect(squares / COUNT - mean ** 2).to.be.closeTo(variance, 0.03);
  });
});
