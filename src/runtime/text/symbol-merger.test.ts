import { expect } from 'chai';
import { SymbolMerger } from './symbol-merger.ts';
import { createRandom } from './testing/random-texts.ts';

/** The definition, without any cleverness: look at all pairs, join the best, begin again. */
function mergeSlowly(text: string, rankOf: (left: string, right: string) => number): string[] {
  const symbols = Array.from(text);
  for (;;) {
    let best = -1;
    let bestRank = Infinity;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = rankOf(symbols[i]!, symbols[i + 1]!);
      if (rank >= 0 && rank < bestRank) [best, bestRank] = [i, rank];
    }
    if (best === -1) return symbols;
    symbols.splice(best, 2, symbols[best]! + symbols[best + 1]!);
  }
}

function merge(merger: SymbolMerger, text: string): string[] {
  const pieces: string[] = [];
  merger.merge(text, (start, end) => pieces.push(text.slice(start, end)));
  return pieces;
}

describe('SymbolMerger', () => {
  it('SymbolMerger: merges as the definition says, ranks shared and texts repetitive', () => {
    const random = createRandom(3);
    const alphabet = ['a', 'b', 'c', '한', '😀'];
    for (let round = 0; round < 300; round++) {
      const ranks = new Map<string, number>();
      const pieces = [...alphabet];
      for (let i = 0; i < 25; i++) {
        const left = pieces[Math.floor(random() * pieces.length)]!;
        const right = pieces[Math.floor(random() * pieces.length)]!;
        if (!ranks.has(`${left} ${right}`)) ranks.set(`${left} ${right}`, Math.floor(i / 2));
        pieces.push(left + right);
      }
      const text = Array.from(
        { length: 1 + Math.floor(random() * 60) },
        () => alphabet[Math.floor(random() ** 2 * 5)],
      ).join('');
      const rankOf = (left: string, right: string) => ranks.get(`${left} ${right}`) ?? -1;
      const merger = new SymbolMerger((all, start, middle, end) =>
        rankOf(all.slice(start, middle), all.slice(middle, end)),
      );
      expect(merge(merger, text), text).to.deep.equal(mergeSlowly(text, rankOf));
    }
  });

  it('SymbolMerger: a text of 200,000 symbols is merged in n log n, and buffers are used again for a short one', () => {
    const merger = new SymbolMerger((_text, start, middle, end) =>
      middle - start === end - middle ? end - start : -1,
    );
    const long = 'a'.repeat(2 ** 18);
    expect(merge(merger, long)).to.deep.equal([long]);
    expect(merge(merger, 'aaa')).to.deep.equal(['aa', 'a']);
    expect(merge(merger, '')).to.deep.equal([]);
  });
});
