import { expect } from 'chai';
import { recordedSteps } from '../testing/steps.ts';
import { TokenHistory } from './token-history.ts';

describe('TokenHistory', () => {
  it('TokenHistory: each token has the parts of the step that made it', () => {
    const history = new TokenHistory();
    history.add({ atMs: 1000, id: 1 });
    // Steps end at 1010, 1020, ...; their tokens are stamped a little later.
    for (let at = 1; at <= 5; at += 1)
      history.add({ atMs: 1000 + at * 10 + 0.1, id: at + 1, deliveredMs: 1000 + at * 10 + 3 });
    const ticks = history.ticks(recordedSteps(5, { totalMs: 10, encodeMs: 1, gpuMs: 8 }), 'gpu');
    expect(ticks).to.have.length(6);
    expect(ticks[0]).to.deep.include({ index: 1, gapMs: undefined });
    expect(ticks.slice(1).map(({ contextTokens }) => contextTokens)).to.deep.equal([20, 21, 22, 23, 24]);
    expect(ticks[2]!.parts).to.deep.equal({ host: 1, compute: 8, rest: 1 });
    expect(ticks[2]!.deliveryMs).to.be.closeTo(2.9, 1e-9);
  });

  it('TokenHistory: several tokens of one step: the first has its parts, none has those of another', () => {
    const history = new TokenHistory();
    for (const atMs of [1000, 1010.1, 1010.2, 1020.1]) history.add({ atMs });
    const ticks = history.ticks(recordedSteps(2, { totalMs: 10, gpuMs: 8 }), 'gpu');
    expect(ticks.map(({ parts }) => parts !== undefined)).to.deep.equal([false, true, false, true]);
  });

  it('TokenHistory: a gap over a time when the page was hidden is none', () => {
    const history = new TokenHistory();
    history.add({ atMs: 0 });
    history.pause();
    history.add({ atMs: 3000 });
    history.add({ atMs: 4000 });
    history.resume(4500);
    history.add({ atMs: 5000 });
    history.add({ atMs: 5010 });
    expect(history.ticks([], 'gpu').map(({ gapMs }) => gapMs)).to.deep.equal([
      ...Array<undefined>(4).fill(undefined),
      10,
    ]);
  });

  it('TokenHistory: an answer of any length takes bounded room, and places stay right', () => {
    const history = new TokenHistory(100);
    for (let at = 0; at < 50_000; at += 1) history.add({ atMs: at });
    expect(history.length).to.be.at.most(200);
    const ticks = history.ticks([], 'gpu');
    expect(ticks).to.have.length(100);
    expect(ticks.at(-1)).to.deep.include({ index: 50_000, gapMs: 1 });
    expect(ticks[0]!.gapMs).to.equal(1);
  });
});
