import { expect } from 'chai';
import { groupRuns, type RunRow } from './run-groups.ts';

const LIMITS = { kvBytesPerToken: 10, weightBytes: 1000, maxKvBytes: 1e6 };
const decode = (length: number): RunRow => ({ tokens: 1, length, isAlone: true });

describe('groupRuns', () => {
  it('groupRuns: rows of one token share a run, longest first, and each chunk is a run of its own', () => {
    const rows = [decode(5), { tokens: 7, length: 20, isAlone: true }, decode(9), decode(0)];
    expect(groupRuns(rows, LIMITS)).to.deep.equal([[2, 0, 3], [1]]);
  });

  it('groupRuns: several rows of one sequence keep their order, after the others', () => {
    const rows = [{ ...decode(5), isAlone: false }, { ...decode(5), isAlone: false }, decode(9)];
    expect(groupRuns(rows, LIMITS)).to.deep.equal([[2], [0], [1]]);
  });

  it('groupRuns: a row whose padding weighs more than the weights is in another run', () => {
    expect(groupRuns([decode(100), decode(0)], LIMITS)).to.deep.equal([[0, 1]]);
    expect(groupRuns([decode(101), decode(0), decode(40), decode(1)], LIMITS)).to.deep.equal([[0, 2, 3], [1]]);
  });

  it('groupRuns: KV of a run, padding and new tokens included, stays within the limit', () => {
    const limits = { ...LIMITS, maxKvBytes: 3 * 10 * 11 };
    expect(groupRuns([decode(10), decode(10), decode(10), decode(10)], limits)).to.deep.equal([[0, 1, 2], [3]]);
    expect(groupRuns([decode(500)], limits)).to.deep.equal([[0]]);
  });
});
