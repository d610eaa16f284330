import { expect } from 'chai';
import { feelOf, ITL_FEEL, TTFT_FEEL } from './feel.ts';
import { LiveLatencyWindow } from './live.ts';

describe('LiveLatencyWindow', () => {
  it('LiveLatencyWindow: tells the latest gap, percentiles and rate of the stream', () => {
    const window = new LiveLatencyWindow();
    for (const atMs of [500, 520, 540, 600]) window.token(atMs);
    // numpy.percentile([20, 20, 60], [50, 95]) = [20, 56]
    expect(window.read()).to.deep.equal({ n: 3, nowMs: 60, p50Ms: 20, p95Ms: 56, tokensPerSecond: 30 });
  });

  it('LiveLatencyWindow: says nothing before the second token', () => {
    const window = new LiveLatencyWindow();
    expect(window.read()).to.deep.equal({ n: 0 });
    window.token(500);
    expect(window.read()).to.deep.equal({ n: 0 });
  });

  it('LiveLatencyWindow: the pause between two requests is no gap', () => {
    const window = new LiveLatencyWindow();
    for (const atMs of [0, 10]) window.token(atMs);
    window.breakGap();
    for (const atMs of [5000, 5030]) window.token(atMs);
    expect(window.read()).to.deep.equal({ n: 2, nowMs: 30, p50Ms: 20, p95Ms: 29, tokensPerSecond: 50 });
  });

  it('LiveLatencyWindow: keeps the latest gaps only', () => {
    const window = new LiveLatencyWindow(4);
    let atMs = 0;
    for (const gapMs of [0, 900, 900, 10, 10, 10, 30]) window.token((atMs += gapMs));
    expect(window.read()).to.include({ n: 4, nowMs: 30, p50Ms: 10 });
    window.clear();
    expect(window.read()).to.deep.equal({ n: 0 });
  });

  it('LiveLatencyWindow: tokens that came at one time give no infinite rate', () => {
    const window = new LiveLatencyWindow();
    for (const atMs of [5, 5]) window.token(atMs);
    expect(window.read()).to.deep.equal({ n: 1, nowMs: 0, p50Ms: 0, p95Ms: 0 });
  });

  it('LiveLatencyWindow: refuses a capacity of nothing', () => {
    for (const capacity of [0, -1, 1.5]) expect(() => new LiveLatencyWindow(capacity)).to.throw(RangeError);
  });
});

describe('feelOf', () => {
  it('feelOf: limits are inclusive', () => {
    expect(feelOf(300, TTFT_FEEL)?.feel).to.equal('instant');
    expect(feelOf(300.1, TTFT_FEEL)?.feel).to.equal('noticeable');
    expect(feelOf(40, ITL_FEEL)?.feel).to.equal('fluent');
    expect(feelOf(100, ITL_FEEL)?.feel).to.equal('noticeable');
    expect(feelOf(101, ITL_FEEL)?.feel).to.equal('slow');
    expect(feelOf(1e9, TTFT_FEEL)?.feel).to.equal('slow');
  });

  it('feelOf: nothing measured feels like nothing, and thresholds are data', () => {
    expect(feelOf(undefined, TTFT_FEEL)).to.equal(undefined);
    const strict = [{ upToMs: 10, feel: 'instant', words: 'is fast' }] as const;
    expect(feelOf(5, strict)?.words).to.equal('is fast');
    expect(feelOf(50, strict)).to.equal(undefined);
  });
});
