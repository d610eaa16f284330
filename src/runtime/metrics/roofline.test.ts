import { expect } from 'chai';
import { attainableFlopPerSecond, roofline, stepWork } from './roofline.ts';

const PEAKS = { bytesPerSecond: 100e9, flopPerSecond: 1e12 };

describe('roofline', () => {
  it('roofline: below the ridge memory decides', () => {
    // 1 GB and 2 GFLOP in 12.5 ms on 100 GB/s and 1 TFLOP/s.
    expect(roofline({ bytes: 1e9, flop: 2e9 }, PEAKS, 12.5)).to.deep.equal({
      intensity: 2,
      ridge: 10,
      memoryMs: 10,
      computeMs: 2,
      floorMs: 10,
      boundBy: 'memory',
      achievedGBps: 80,
      achievedGflops: 160,
      shareOfFloor: 0.8,
    });
  });

  it('roofline: above the ridge arithmetic decides', () => {
    const { boundBy, floorMs } = roofline({ bytes: 1e9, flop: 50e9 }, PEAKS);
    expect([boundBy, floorMs]).to.deep.equal(['compute', 50]);
  });

  it('roofline: says what it can of what it is given, and nothing of a time of 0', () => {
    expect(roofline({}, PEAKS, 5)).to.deep.equal({ ridge: 10 });
    expect(roofline({ bytes: 1e9 }, {}, 10)).to.deep.equal({ achievedGBps: 100 });
    expect(roofline({ bytes: 1e9 }, { bytesPerSecond: 100e9 })).to.deep.equal({
      memoryMs: 10,
      floorMs: 10,
      boundBy: 'memory',
    });
    expect(roofline({ bytes: 1e9, flop: 1 }, PEAKS, 0)).to.not.have.any.keys('achievedGBps', 'shareOfFloor');
  });

  it('attainableFlopPerSecond: rises with intensity up to the peak', () => {
    expect(attainableFlopPerSecond(2, PEAKS)).to.equal(200e9);
    expect(attainableFlopPerSecond(10, PEAKS)).to.equal(1e12);
    expect(attainableFlopPerSecond(500, PEAKS)).to.equal(1e12);
    expect(attainableFlopPerSecond(2, { flopPerSecond: 1e12 })).to.equal(1e12);
    expect(attainableFlopPerSecond(2, {})).to.equal(undefined);
  });
});

describe('stepWork', () => {
  const shape = { batch: 2, tokens: 2, contextTokens: 100 };
  const model = { weightBytes: 1000, kvBytesPerToken: 3, parameters: 500 };

  it('stepWork: what the backend counted comes first', () => {
    const step = { ...shape, bytes: { weights: 10, kv: 5, activations: 1 }, flop: 7 };
    expect(stepWork(step, model)).to.deep.equal({
      bytes: 16,
      flop: 7,
      bytesAreEstimated: false,
      flopAreEstimated: false,
    });
  });

  it('stepWork: the model stands in for what was not counted, and nothing stands in for both', () => {
    expect(stepWork(shape, model)).to.deep.equal({
      bytes: 1600,
      flop: 2000,
      bytesAreEstimated: true,
      flopAreEstimated: true,
    });
    expect(stepWork(shape)).to.deep.equal({ bytesAreEstimated: false, flopAreEstimated: false });
  });
});
