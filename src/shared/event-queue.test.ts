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
    for await (const event of early) if (event === 1) break;
    await early.return();
    expect(abandoned).to.equal(1);
    expect((await early.next()).done).to.equal(true);

    const whole = new EventQueue<number>({ onAbandon: () => (abandoned += 1) });
    whole.end();
    await drain(whole);
    expect(abandoned).to.equal(1);
  });

  it('EventQueue: abort drops what is queued, also an end that was not read', async () => {
    const queue = new EventQueue<number>();
    queue.push(1);
    queue.end();
    queue.abort(new RangeError('broken'));
    let caught: unknown;
    await queue.next().catch((error: unknown) => (caught = error));
    expect(caught).to.be.instanceOf(RangeError);
    expect((await queue.next()).done).to.equal(true);
  });

  it('EventQueue: a read after its signal was aborted throws AbortError, also when all was produced before', async () => {
    const controller = new AbortController();
    const queue = new EventQueue<number>({ signal: controller.signal });
    for (const event of [1, 2]) queue.push(event);
    queue.end();
    expect((await queue.next()).value).to.equal(1);
    controller.abort();
    let caught: unknown;
    await queue.next().catch((error: unknown) => (caught = error));
    expect((caught as DOMException).name).to.equal('AbortError');
    expect((await queue.next()).done).to.equal(true);
  });

  it('EventQueue: two reads at once are both answered', async () => {
    const queue = new EventQueue<number>();
    const reads = Promise.all([queue.next(), queue.next()]);
    queue.push(1);
    queue.push(2);
    expect((await reads).map((read) => read.value)).to.deep.equal([1, 2]);
  });

  it('EventQueue: tells once that the end was read or the consumer has left', async () => {
    let finished = 0;
    const onFinished = (): void => void (finished += 1);
    const whole = new EventQueue<number>({ onFinished });
    whole.push(1);
    whole.end();
    await whole.next();
    expect(finished).to.equal(0);
    await whole.next();
    await whole.next();
    expect(finished).to.equal(1);
    const left = new EventQueue<number>({ onFinished });
    await left.return();
    await left.return();
    expect(finished).to.equal(2);
  });
});
