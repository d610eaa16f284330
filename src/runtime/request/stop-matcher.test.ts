import { expect } from 'chai';
import { StopMatcher } from './stop-matcher.ts';

interface Shown {
  text: string;
  pieces: string[];
  stopString?: string;
}

/** Pushes pieces until a stop string comes; flushes if none does. */
function run(stops: readonly string[], pieces: readonly string[]): Shown {
  const matcher = new StopMatcher(stops);
  const shown: string[] = [];
  for (const piece of pieces) {
    const { text, stopString } = matcher.push(piece);
    shown.push(text);
    if (stopString !== undefined) return { text: shown.join(''), pieces: shown, stopString };
  }
  shown.push(matcher.flush());
  return { text: shown.join(''), pieces: shown };
}

/** The definition, character by character: the first stop string that the text so far ends with; the longest of several. */
function reference(stops: readonly string[], text: string): { text: string; stopString?: string } {
  for (let end = 1; end <= text.length; end++) {
    const soFar = text.slice(0, end);
    const matches = stops.filter((stop) => soFar.endsWith(stop)).sort((a, b) => b.length - a.length);
    if (matches[0] !== undefined) return { text: soFar.slice(0, -matches[0].length), stopString: matches[0] };
  }
  return { text };
}

describe('StopMatcher', () => {
  it('StopMatcher: "own fox" on "The quick brown fox" gives "The quick br"', () => {
    for (const pieces of [
      ['The quick brown fox'],
      ['The quick brown', ' fox jumps'],
      'The quick brown fox jumps'.split(' ').flatMap((word) => [word, ' ']),
    ]) {
      const { text, stopString } = run(['own fox'], pieces);
      expect(text).to.equal('The quick br');
      expect(stopString).to.equal('own fox');
    }
  });

  it('StopMatcher: holds back only what a stop string begins with', () => {
    const { pieces } = run(['own fox'], ['The br', 'ow', 'n', 'ie', ' fo']);
    expect(pieces).to.deep.equal(['The br', '', '', 'ownie', ' f', 'o']);
  });

  it('StopMatcher: shows held-back text at the end', () => {
    expect(run(['own fox'], ['a brown fo'])).to.deep.equal({ text: 'a brown fo', pieces: ['a br', 'own fo'] });
  });

  it('StopMatcher: a stop string that overlaps its own beginning is found', () => {
    expect(run(['aab'], ['a', 'a', 'a', 'b']).text).to.equal('a');
    expect(run(['\n\nUser:'], ['x\n', '\n', '\nUser', ':']).text).to.equal('x\n');
  });

  it('StopMatcher: of several, the one that is complete first wins, and the longer of two at once', () => {
    expect(run(['abcd', 'bc'], ['xabcd'])).to.include({ text: 'xa', stopString: 'bc' });
    expect(run(['cd', 'abcd'], ['xabcd'])).to.include({ text: 'x', stopString: 'abcd' });
  });

  it('StopMatcher: without stop strings text passes as it is', () => {
    expect(run([], ['a', 'b'])).to.deep.equal({ text: 'ab', pieces: ['a', 'b', ''] });
  });

  it('StopMatcher: equals the definition for 2,000 seeded texts, however they are cut', () => {
    let state = 12345;
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const word = (length: number): string => Array.from({ length }, () => 'ab'[random(2)]!).join('');
    for (let round = 0; round < 2000; round++) {
      const stops = Array.from({ length: 1 + random(3) }, () => word(1 + random(4)));
      const text = word(random(14));
      const pieces: string[] = [];
      for (let at = 0; at < text.length;) pieces.push(text.slice(at, (at += 1 + random(4))));
      const { text: shown, stopString } = run(stops, pieces);
      const expected = reference(stops, text);
      expect({ shown, stopString }, `${JSON.stringify(stops)} on ${JSON.stringify(pieces)}`).to.deep.equal({
        shown: expected.text,
        stopString: expected.stopString,
      });
    }
  });
});
