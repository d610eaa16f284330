import { expect } from 'chai';
import { SeededRandom } from '../../models/testing/random.ts';
import { PromptLookup } from './prompt-lookup.ts';

/** By looking at every position: the longest of the last 4, 3 or 2 tokens that occurred before, at its latest place. */
function bySearch(tokens: readonly number[]): { after: number; size: number } | undefined {
  for (const size of [4, 3, 2]) {
    for (let after = tokens.length - 1; after >= size; after--) {
      const isSame = Array.from({ length: size }, (_, i) => tokens[after - 1 - i] === tokens[tokens.length - 1 - i]);
      if (isSame.every(Boolean)) return { after, size };
    }
  }
  return undefined;
}

describe('PromptLookup', () => {
  it('draft: what followed the longest match, the latest one, as a search of every position finds it', () => {
    const random = new SeededRandom(5);
    let found = 0;
    for (let round = 0; round < 40; round++) {
      const lookup = new PromptLookup();
      const tokens: number[] = [];
      let run = 0;
      let at = -1;
      for (let i = 0; i < 120; i++) {
        const token = random.integer(4);
        run = at >= 0 && tokens[at] === token ? run + 1 : 0;
        tokens.push(token);
        lookup.append([token]);
        const expected = bySearch(tokens);
        const draft = lookup.draft(3);
        if (run >= 4)
          at += 1; // a match that goes on is kept
        else if (expected) [at, run] = [expected.after, expected.size];
        else at = -1;
        if (at < 0) expect(draft).to.equal(undefined);
        else {
          found += 1;
          expect(draft).to.deep.equal({
            evidence: run,
            tokens: [0, 1, 2].map((j) => tokens[at + j] ?? tokens[at + (j % (tokens.length - at))]),
          });
        }
      }
    }
    expect(found).to.be.greaterThan(1000);
  });

  it('draft: nothing before anything has occurred twice, and nothing if none is wanted', () => {
    const lookup = new PromptLookup();
    lookup.append([1, 2, 3, 4, 5, 1]);
    expect(lookup.draft(4)).to.equal(undefined);
    lookup.append([2]);
    expect(lookup.draft(0)).to.equal(undefined);
    expect(lookup.draft(4)).to.deep.equal({ tokens: [3, 4, 5, 1], evidence: 2 });
  });

  it('draft: of a text that repeats itself it goes on repeating, past its end', () => {
    const lookup = new PromptLookup();
    lookup.append([7, 8, 7, 8, 7]);
    expect(lookup.draft(5)!.tokens).to.deep.equal([8, 7, 8, 7, 8]);
  });

  it('draft: evidence grows as the match goes on, and ends with it', () => {
    const lookup = new PromptLookup();
    lookup.append([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const evidence = [];
    for (const token of [1, 2, 3, 4, 5, 6, 99]) {
      lookup.append([token]);
      evidence.push(lookup.draft(1)?.evidence);
    }
    expect(evidence).to.deep.equal([undefined, 2, 3, 4, 5, 6, undefined]);
  });

  it('append: 200,000 tokens cost no more each than 2,000 do', () => {
    // Not by the clock: a search would look at every token for each one, which does not end in the time of a test.
    const lookup = new PromptLookup();
    const random = new SeededRandom(1);
    for (let i = 0; i < 200_000; i++) lookup.append([random.integer(50_000)]);
    expect(lookup.draft(1)?.tokens ?? []).to.have.length.at.most(1);
  });
});
