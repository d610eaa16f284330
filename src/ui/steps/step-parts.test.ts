import { expect } from 'chai';
import { recordedSteps } from '../testing/steps.ts';
import { stepParts } from './step-parts.ts';
import { stackedHeights, type TokenTick } from './ticks.ts';

const last = (...of: Parameters<typeof recordedSteps>) => recordedSteps(...of).at(-1)!;

describe('stepParts', () => {
  it('stepParts: on a GPU, submit is host time, and what nothing explains is the rest', () => {
    const step = last(3, { totalMs: 10, encodeMs: 1, submitMs: 1, gpuMs: 5, readbackMs: 2 }, { gapMs: 2 });
    expect(stepParts(step, 'gpu')).to.deep.equal({ host: 4, compute: 5, readback: 2, rest: 1 });
  });

  it('stepParts: on a CPU the call of the session computes', () => {
    const step = last(2, { totalMs: 10, encodeMs: 1, submitMs: 8, sampleMs: 0.5 });
    expect(stepParts(step, 'cpu')).to.deep.equal({ host: 1, compute: 8, sample: 0.5, rest: 0.5 });
  });

  it('stepParts: parts never exceed what the token waited for', () => {
    const step = last(2, { totalMs: 4, encodeMs: 3, gpuMs: 3, readbackMs: 3 });
    const parts = stepParts(step, 'gpu');
    expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).to.equal(4);
  });

  it('stepParts: a part that was not measured is absent, not 0', () => {
    expect(stepParts(last(2, { totalMs: 4 }), 'gpu')).to.deep.equal({ host: 0, rest: 4 });
  });
});

describe('stackedHeights', () => {
  it('stackedHeights: the last series is the gap, whatever the parts add up to', () => {
    const ticks: TokenTick[] = [
      { index: 1 },
      { index: 2, gapMs: 10, parts: { host: 2, compute: 6 } },
      { index: 3, gapMs: 7 },
    ];
    const [host, compute, rest] = stackedHeights(ticks, ['host', 'compute', 'rest']);
    expect(rest).to.deep.equal([null, 10, 7]);
    expect(host).to.deep.equal([null, 2.5, 0]);
    expect(compute).to.deep.equal([null, 10, 0]);
  });
});
