import { expect } from 'chai';
import { SeededRandom } from '../../models/testing/random.ts';
import { planDrafts } from './plan-drafts.ts';

/** Every way to share out at most `rows` drafts. */
function* everyWay(mosts: readonly number[], rows: number): Generator<number[]> {
  const [most, ...rest] = mosts;
  if (most === undefined) yield [];
  else
    for (let count = 0; count <= Math.min(most, rows); count++)
      for (const others of everyWay(rest, rows - count)) yield [count, ...others];
}

describe('planDrafts', () => {
  it('planDrafts: no other way to share out drafts promises more tokens per ms, 200 cases', () => {
    const random = new SeededRandom(11);
    for (let round = 0; round < 200; round++) {
      const sequences = Array.from({ length: 1 + Math.floor(random.uniform() * 3) }, () => {
        const share = random.uniform();
        return { chances: Array.from({ length: Math.floor(random.uniform() * 5) }, (_, i) => share ** (i + 1)) };
      });
      const slope = random.uniform();
      const stepMs = (rows: number): number => 4 + slope * rows;
      const rowsMost = sequences.length + 6;
      const plan = planDrafts(sequences, rowsMost, stepMs);
      let best = 0;
      for (const counts of everyWay(
        sequences.map(({ chances }) => chances.length),
        6,
      )) {
        const drafts = counts.reduce((sum, count) => sum + count, 0);
        if (drafts === 0) continue;
        const gains = counts.map((count, i) => sequences[i]!.chances.slice(0, count).reduce((sum, c) => sum + c, 0));
        const expected = sequences.length + gains.reduce((sum, gain) => sum + gain, 0);
        best = Math.max(best, expected / stepMs(sequences.length + drafts));
      }
      expect(plan.rate).to.be.closeTo(best, 1e-12);
    }
  });

  it('planDrafts: rows that cost nothing are all taken, and rows that cost a step each are not worth a doubtful draft', () => {
    const sure = [{ chances: [0.9, 0.8, 0.7] }, { chances: [0.5] }];
    expect(planDrafts(sure, 16, () => 10).counts).to.deep.equal([3, 1]);
    expect(planDrafts(sure, 4, () => 10).counts).to.deep.equal([2, 0]);
    expect(planDrafts(sure, 16, (rows) => rows * 10).rate).to.be.lessThan(1 / 10);
    expect(planDrafts([{ chances: [] }], 16, () => 10).rate).to.equal(0);
  });
});
