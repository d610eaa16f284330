import { expect } from 'chai';
import { DraftPolicy } from './draft-policy.ts';

const sure = [{ chances: Array.from({ length: 7 }, (_, i) => 0.95 ** (i + 1)) }];
const doubtful = [{ chances: Array.from({ length: 7 }, (_, i) => 0.1 ** (i + 1)) }];

describe('DraftPolicy', () => {
  it('choose: drafts that are likely right are tried before anything is known, doubtful ones are not', () => {
    const policy = new DraftPolicy();
    expect(policy.choose(sure, 16, 10)?.counts).to.deep.equal([7]);
    expect(policy.choose(doubtful, 16, 10)).to.equal(undefined);
  });

  it('choose: the draft is as long as pays, by what steps were measured to take', () => {
    const policy = new DraftPolicy();
    // As on a GPU with a kernel for up to 4 rows: one more costs as much as a step.
    for (const [rows, ms] of [
      [4, 11],
      [5, 21],
      [8, 21],
    ] as const)
      policy.verified(rows, ms);
    expect(policy.choose([{ chances: [0.7, 0.5, 0.35, 0.24, 0.17, 0.12, 0.08] }], 16, 10)?.counts).to.deep.equal([3]);
    expect(policy.choose([{ chances: [0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93] }], 16, 10)?.counts).to.deep.equal([7]);
  });

  it('choose: where every row costs a step it is off, probes ever more rarely, and is on again once that changes', () => {
    const policy = new DraftPolicy();
    const cost = (rows: number): number => 10 * rows;
    let probes: number[] = [];
    const run = (tokens: number): void => {
      probes = [];
      for (let at = 0; at < tokens; at++) {
        const plan = policy.choose(sure, 16, 10);
        if (plan) {
          probes.push(at);
          policy.verified(1 + plan.counts[0]!, isSlow ? cost(1 + plan.counts[0]!) : 12);
        } else policy.passed(1);
      }
    };
    let isSlow = true;
    run(20_000);
    expect(probes.length).to.be.within(4, 16);
    const gaps = probes.slice(1).map((at, i) => at - probes[i]!);
    expect(gaps.at(-1)).to.be.greaterThan(1000);
    isSlow = false;
    run(20_000);
    expect(probes.length, 'on again').to.be.greaterThan(10_000);
  });
});
