import { expect } from 'chai';
import { resolveSampling } from './definition.ts';
import { PLAIN, randomTokens, seededRandom } from './testing/random-cases.ts';
import { TokenCounts } from './token-counts.ts';

/** All three penalties on four tokens of 2, -2, 1, 1, after prompt 0, 1 and output 1, 2, 2. */
function penalised(counts: TokenCounts): number[] {
  const logits = Float32Array.of(2, -2, 1, 1);
  const params = { ...PLAIN, repetitionPenalty: 2, frequencyPenalty: 0.25, presencePenalty: 0.5 };
  counts.penalise(logits, resolveSampling(params, 4));
  return [...logits];
}

describe('TokenCounts', () => {
  it('TokenCounts: repetition counts prompt and output, frequency and presence the output alone', () => {
    const counts = new TokenCounts();
    for (const id of [0, 1]) counts.append(id, true);
    for (const id of [1, 2, 2]) counts.append(id, false);
    // 2/2; -2*2 - 0.25 - 0.5; 1/2 - 2*0.25 - 0.5; not seen
    expect(penalised(counts)).to.deep.equal([1, -4.75, -0.5, 1]);
    expect(counts.outputCount(2)).to.equal(2);
    expect(counts.outputCount(0)).to.equal(0);
    expect(counts.length).to.equal(5);
  });

  it('TokenCounts: truncate undoes exactly what was appended, prompt and output alike', () => {
    const counts = new TokenCounts();
    for (const id of [0, 1]) counts.append(id, true);
    counts.append(1, false);
    counts.truncate(1);
    expect(penalised(counts)).to.deep.equal([1, -2, 1, 1]);
    counts.truncate(0);
    expect(penalised(counts)).to.deep.equal([2, -2, 1, 1]);
    expect(() => counts.truncate(1)).to.throw(RangeError);
  });

  it('TokenCounts: truncated and grown anew equals counted afresh, over thousands of tokens', () => {
    const random = seededRandom(5);
    const tokens = randomTokens(3000, 500, random);
    const wandering = new TokenCounts();
    let at = 0;
    for (let round = 0; round < 40; round++) {
      const next = Math.floor(random() * tokens.length);
      if (next < at) wandering.truncate(next);
      for (; at < next; at++) wandering.append(tokens[at]!, at < 100);
      at = next;
    }
    const fresh = new TokenCounts();
    for (let i = 0; i < at; i++) fresh.append(tokens[i]!, i < 100);
    const params = resolveSampling(
      { ...PLAIN, repetitionPenalty: 1.3, frequencyPenalty: 0.1, presencePenalty: 0.2 },
      500,
    );
    const [a, b] = [wandering, fresh].map((counts) => {
      const logits = new Float32Array(500).fill(1);
      counts.penalise(logits, params);
      return [...logits];
    });
    expect(a).to.deep.equal(b);
    expect(a).to.not.deep.equal(new Array(500).fill(1));
  });
});
