import { expect } from 'chai';
import { EventQueue } from './event-queue.ts';

const drain = async <Event>(queue: EventQueue<Event>): Promise<Event[]> => {
  const events: Event[] = [];
  for await (const event of queue) events.push(event);
  return events;
};

describe('EventQueue', () => {
  it('EventQueue: gives what was pushed before and during iteration, in order', async () => {
    const queue = new EventQueue<number>();
    queue.push(1);
    const all = drain(queue);
    await Promise.resolve();
    queue.push(2);
    queue.end();
    queue.push(3);
    expect(await all).to.deep.equal([1, 2]);
  });

  it('EventQueue: throws the error of its end once, after what was queued', async () => {
    const queue = new EventQueue<number>();
    queue.push(1);
    queue.end(new RangeError('broken'));
    expect(await queue.next()).to.deep.equal({ done: false, value: 1 });
    let caught: unknown;
    await queue.next().catch((error: unknown) => (caught = error));
    expect(caught).to.be.instanceOf(RangeError);
    expect((await queue.next()).done).to.equal(true);
  });

  it('EventQueue: reports a consumer that leaves early, once, and not one that reached the end', async () => {
    let abandoned = 0;
    const early = new EventQueue<number>({ onAbandon: () => (abandoned += 1) });
    early.push(1);
    for await (const _ of early) break;
    await early.return();
    expect(abandoned).to.equal(1);
    expect((await early.next()).done).to.equal(true);

    const whole = new EventQueue<number>({ onAbandon: () => (abandoned += 1) });
    whole.end();
    await drain(whole);
    expect(abandoned).to.equal(1);
  });
});
