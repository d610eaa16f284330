import { expect } from 'chai';
import { SeededRandom } from '../../models/testing/random.ts';
import { Acceptance } from './acceptance.ts';

describe('Acceptance', () => {
  it('of: comes to the share that turned out right, by the evidence', () => {
    const random = new SeededRandom(3);
    const acceptance = new Acceptance();
    for (let i = 0; i < 2000; i++) {
      acceptance.learn(2, random.uniform() < 0.1);
      acceptance.learn(20, random.uniform() < 0.95);
    }
    expect(acceptance.of(2)).to.be.closeTo(0.1, 0.12);
    expect(acceptance.of(20)).to.be.closeTo(0.95, 0.08);
    expect(acceptance.of(4), 'untouched').to.be.closeTo(0.5, 1e-12);
  });

  it('of: follows a text that changes its nature within some dozens of tokens', () => {
    const acceptance = new Acceptance();
    for (let i = 0; i < 500; i++) acceptance.learn(4, true);
    for (let i = 0; i < 80; i++) acceptance.learn(4, false);
    expect(acceptance.of(4)).to.be.lessThan(0.3);
  });

  it('chances: fall along the draft, and tokens in flight have to be right first', () => {
    const acceptance = new Acceptance();
    const chances = acceptance.chances(4, 4);
    for (const [i, chance] of chances.entries()) expect(chance).to.be.lessThan(chances[i - 1] ?? 1);
    expect(acceptance.chances(4, 2, 2)).to.deep.equal(chances.slice(2));
  });
});
