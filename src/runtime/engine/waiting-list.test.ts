import { expect } from 'chai';
import type { Priority } from '../../shared/generation.ts';
import { byRank, outranks, OVERTAKEN_PER_LEVEL, WaitingList, type Ranked } from './waiting-list.ts';

const item = (priority: Priority, arrival: number): Ranked => ({ priority, arrival, overtaken: 0 });

/** Takes them one by one, in the order in which they would run. */
function drain(items: readonly Ranked[]): Ranked[] {
  const list = new WaitingList<Ranked>();
  for (const one of items) list.add(one);
  const order: Ranked[] = [];
  for (let next; (next = list.peek());) {
    list.delete(next);
    list.passed(next);
    order.push(next);
  }
  return order;
}

describe('WaitingList', () => {
  it('peek: higher priorities first, and of one priority in the order of the calls', () => {
    const [a, b, c, d, e] = [item('low', 1), item('normal', 2), item('high', 3), item('normal', 4), item('high', 5)];
    expect(drain([d, a, c, e, b])).to.deep.equal([c, e, b, d, a]);
  });

  it('passed: a low one is overtaken by at most 16 later ones of high priority, and none by its own kind', () => {
    const low = item('low', 1);
    const highs = Array.from({ length: 40 }, (_, index) => item('high', index + 2));
    expect(drain([low, ...highs]).indexOf(low)).to.equal(2 * OVERTAKEN_PER_LEVEL);
    const lows = Array.from({ length: 40 }, (_, index) => item('low', index + 2));
    expect(drain([low, ...lows]).indexOf(low)).to.equal(0);
  });

  it('outranks: only a whole level is worth that one stops; one that was overtaken enough is safe', () => {
    const low = item('low', 1);
    const high = item('high', 9);
    expect(outranks(item('normal', 9), low)).to.equal(true);
    expect(outranks(item('low', 9), low)).to.equal(false);
    expect(outranks({ ...low, overtaken: OVERTAKEN_PER_LEVEL - 1 }, low)).to.equal(false);
    expect(outranks(high, low)).to.equal(true);
    low.overtaken = OVERTAKEN_PER_LEVEL + 1;
    expect(outranks(high, low)).to.equal(false);
    expect(byRank(high, low)).to.be.below(0);
  });
});
