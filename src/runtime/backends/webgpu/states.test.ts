import { expect } from 'chai';
import { KvBlocks } from '../kv/kv-blocks.ts';
import { States } from './states.ts';
import { stepLayout, StepWriter } from './step-layout.ts';

const SLOTS = 2;

function create(pages: number, everyBlock: boolean): { states: States; pages: KvBlocks } {
  const layout = stepLayout({ maxSamples: 1, maxStepTokens: 64, slots: SLOTS, maxBlocks: 64, maxRuns: SLOTS });
  const pool = new KvBlocks(pages);
  return { states: new States(pool, new StepWriter(layout), { slots: SLOTS, everyBlock }), pages: pool };
}

/** Positions, up to `length`, whose state could outlive the sequence. */
const keptBy = (states: States, sequence: ReturnType<States['open']>, length: number): number[] =>
  Array.from({ length: length / 32 }, (_, block) => (block + 1) * 32).filter(
    (position) => states.at(sequence, position) !== undefined,
  );

describe('States', () => {
  it('begin: a step reads one page and writes another, and small states are kept at each end of a block', () => {
    const { states } = create(32, true);
    const sequence = states.open();
    const first = states.begin(sequence, 0, 100, 0);
    expect(first.source).to.equal(0);
    const second = states.begin(sequence, 0, 101, 0);
    expect(second.source).to.equal(first.target);
    expect(second.target).not.to.equal(first.target);
    expect(keptBy(states, sequence, 128)).to.deep.equal([32, 64, 96]);
  });

  it('truncate: what is left of a verified row is run again from where its step began; further back from the end of a block', () => {
    const { states } = create(32, true);
    const sequence = states.open();
    states.begin(sequence, 0, 100, 0);
    const verified = states.begin(sequence, 0, 108, 0);
    states.truncate(sequence, 103);
    expect(states.behind(sequence, 103)).to.equal(3);
    expect(states.begin(sequence, 0, 104, 3).source).to.equal(verified.source);
    states.truncate(sequence, 70);
    expect(states.behind(sequence, 70)).to.equal(6);
    states.truncate(sequence, 20);
    expect(states.behind(sequence, 20), 'from the beginning').to.equal(20);
  });

  it('begin: where pages are short, the states that are kept are spread out, and the last end of a block is one of them', () => {
    // The empty one, two for each sequence, and four.
    const { states } = create(1 + 2 * SLOTS + 4, false);
    const sequence = states.open();
    for (let end = 64; end <= 1024; end += 64) states.begin(sequence, 0, end, 0);
    const kept = keptBy(states, sequence, 1024);
    expect(kept).to.have.length(4);
    expect(kept.at(-1)).to.equal(1024);
    expect(kept[0]).to.be.below(512);
  });

  it('close: every page comes back, and a second sequence always finds its two', () => {
    const { states, pages } = create(1 + 2 * SLOTS + 2, true);
    const free = pages.freeBlocks;
    const first = states.open();
    states.begin(first, 0, 320, 0);
    const second = states.open();
    states.begin(second, 1, 64, 0);
    states.close(first);
    states.close(second);
    expect(pages.freeBlocks).to.equal(free);
  });
});
