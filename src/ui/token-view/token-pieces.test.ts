import { expect } from 'chai';
import { latencyScale, levelOf } from './latency-scale.ts';
import { TokenPieces } from './token-pieces.ts';

describe('TokenPieces', () => {
  it('TokenPieces: the text of a delta is of its token, with the gap before it', () => {
    const pieces = new TokenPieces();
    pieces.append('Time', [{ id: 7, atMs: 100 }]);
    pieces.append(' to', [{ id: 8, atMs: 112, logprob: Math.log(0.5) }]);
    expect(pieces.pieces).to.deep.equal([
      { text: 'Time', tokens: [{ id: 7 }], index: 1 },
      { text: ' to', tokens: [{ id: 8, gapMs: 12, probability: 0.5 }], index: 2, gapMs: 12 },
    ]);
  });

  it('TokenPieces: tokens without text wait for the text that they made together', () => {
    const pieces = new TokenPieces();
    pieces.append('a', [{ id: 1, atMs: 0 }]);
    pieces.append('', [{ id: 2, atMs: 10 }]);
    pieces.append('é', [{ id: 3, atMs: 50 }]);
    expect(pieces.pieces[1]).to.deep.equal({
      text: 'é',
      tokens: [
        { id: 2, gapMs: 10 },
        { id: 3, gapMs: 40 },
      ],
      index: 2,
      gapMs: 40,
    });
  });

  it('TokenPieces: several tokens of one delta share its text, and none is made up for them', () => {
    const pieces = new TokenPieces();
    pieces.append('abc', [
      { id: 1, atMs: 0 },
      { id: 2, atMs: 5 },
    ]);
    expect(pieces.pieces).to.have.length(1);
    expect(pieces.pieces[0]!.tokens.map(({ id }) => id)).to.deep.equal([1, 2]);
  });

  it('TokenPieces: keeps the first tokens of a very long answer, and counts them all', () => {
    const pieces = new TokenPieces(100);
    for (let at = 0; at < 20_000; at += 1) pieces.append('x', [{ id: at, atMs: at }]);
    expect(pieces.pieces).to.have.length(100);
    expect([pieces.kept, pieces.count]).to.deep.equal([100, 20_000]);
  });

  it('TokenPieces: all text of an answer is there, a flush without tokens as well', () => {
    const pieces = new TokenPieces();
    pieces.append('a', [{ id: 1, atMs: 0 }]);
    pieces.append('b', []);
    pieces.close();
    pieces.append('c', [{ id: 2, atMs: 1 }]);
    expect(pieces.pieces.map(({ text }) => text).join('')).to.equal('ab');
  });
});

describe('latencyScale', () => {
  it('latencyScale: levels are multiples of the median of this answer', () => {
    const scale = latencyScale([8, 10, 12, 10, 90])!;
    expect(scale).to.deep.equal({ slowerMs: 15, slowMs: 30, stallMs: 60 });
    expect([undefined, 10, 15, 16, 31, 61].map((gap) => levelOf(gap, scale))).to.deep.equal([
      'first',
      'usual',
      'usual',
      'slower',
      'slow',
      'stall',
    ]);
  });

  it('latencyScale: nothing to compare with makes everything usual', () => {
    expect(latencyScale([])).to.equal(undefined);
    expect(levelOf(1000, undefined)).to.equal('usual');
  });
});
