import { expect } from 'chai';
import { percentile } from './percentile.ts';
import { summarize, visibleOnly } from './summary.ts';

/** Samples, percentiles, and what numpy 2.4.6 gives: `numpy.percentile(samples, ps)`. */
const NUMPY: readonly (readonly [samples: number[], ps: number[], expected: number[]])[] = [
  // numpy.percentile([1, 2, 3, 4], [0, 25, 50, 90, 95, 99, 100])
  [
    [1, 2, 3, 4],
    [0, 25, 50, 90, 95, 99, 100],
    [1, 1.75, 2.5, 3.7, 3.8499999999999996, 3.9699999999999998, 4],
  ],
  // numpy.percentile([7], [0, 50, 99])
  [[7], [0, 50, 99], [7, 7, 7]],
  // numpy.percentile([15, 20, 35, 40, 50], [5, 30, 40, 50, 95, 99, 100])
  [
    [15, 20, 35, 40, 50],
    [5, 30, 40, 50, 95, 99, 100],
    [16, 23, 29, 35, 48, 49.6, 50],
  ],
  // numpy.percentile([3.5, -1.25, 8, 2, 2, 9.75, 100], [1, 10, 33.3, 50, 66.6, 95, 99])
  [
    [3.5, -1.25, 8, 2, 2, 9.75, 100],
    [1, 10, 33.3, 50, 66.6, 95, 99],
    [-1.055, 0.7000000000000002, 2, 3.5, 7.9819999999999975, 72.92499999999994, 94.58499999999995],
  ],
  // numpy.percentile([(i * 7919) % 1000 / 8 for i in range(1000)], [50, 95, 99, 99.9])
  [
    Array.from({ length: 1000 }, (_, i) => ((i * 7919) % 1000) / 8),
    [50, 95, 99, 99.9],
    [62.4375, 118.63125, 123.62625, 124.75012500000001],
  ],
];

describe('percentile', () => {
  for (const [samples, ps, expected] of NUMPY)
    it(`percentile: equals numpy on ${samples.length} samples from ${samples[0]}`, () => {
      const before = [...samples];
      for (const [index, p] of ps.entries())
        expect(percentile(samples, p), `p${p}`).to.be.closeTo(expected[index]!, 1e-12);
      expect(samples, 'the samples are not reordered').to.deep.equal(before);
    });

  it('percentile: sorts by value and not by text', () => {
    expect(percentile([100, 9, 20], 50)).to.equal(20);
  });

  it('percentile: is absent for no samples', () => {
    expect(percentile([], 50)).to.equal(undefined);
  });

  it('percentile: refuses a p outside 0 to 100 and a sample that is no number', () => {
    for (const p of [-1, 100.1, NaN]) expect(() => percentile([1], p)).to.throw(RangeError);
    expect(() => percentile([1, NaN, 2], 50)).to.throw(RangeError);
  });
});

describe('summarize', () => {
  it('summarize: tells n with the percentiles', () => {
    const samples = Array.from({ length: 101 }, (_, index) => 100 - index);
    expect(summarize(samples)).to.deep.equal({ n: 101, p50: 50, p95: 95, p99: 99, max: 100 });
  });

  it('summarize: of nothing is n = 0 and nothing else', () => {
    expect(summarize([])).to.deep.equal({ n: 0 });
  });

  it('visibleOnly: leaves out what ran while the page was hidden', () => {
    expect(
      visibleOnly([
        { hidden: true, id: 1 },
        { hidden: false, id: 2 },
      ]).map(({ id }) => id),
    ).to.deep.equal([2]);
  });
});
