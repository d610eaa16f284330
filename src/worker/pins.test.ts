import { expect } from 'chai';
import type { PrefixCache } from '../shared/prefix-cache.ts';
import { Pins } from './pins.ts';

describe('Pins', () => {
  it('Pins: what two clients have pinned stays until both have let go, one of them by leaving', async () => {
    const calls: string[] = [];
    const cache = {
      pin: () => (calls.push('pin'), Promise.resolve(32)),
      unpin: () => (calls.push('unpin'), Promise.resolve()),
    } as unknown as PrefixCache;
    const [one, other] = [new Pins(() => cache), new Pins(() => cache)];
    const messages = [{ role: 'user', content: 'x' }] as const;
    for (const pins of [one, one, other]) expect(await pins.pin(messages)).to.equal(32);
    await one.unpin(messages);
    expect(calls).to.deep.equal(['pin', 'pin', 'pin']);
    await other.release();
    expect(calls.at(-1)).to.equal('unpin');
    await other.release();
    expect(calls).to.have.length(4);
  });
});
