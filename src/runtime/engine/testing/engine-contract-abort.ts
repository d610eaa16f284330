import { expect } from 'chai';
import { answer, nextEvent, rejection } from './collect.ts';
import type { Subject } from './engine-contract.ts';

/** Leaving early, in every phase: the request ends with AbortError, and the next one is right. */
export function describeAborts({ engine, options, requests, solo, expectUsable }: Subject): void {
  const long = { ...requests[0]!, maxTokens: options.tokens * 4 };

  it('abort: a signal that is aborted already gives AbortError and no event', async () => {
    const error = await rejection(answer(engine(), long, AbortSignal.abort()));
    expect(error.name).to.equal('AbortError');
    await expectUsable();
  });

  it('abort: right after the call', async () => {
    const controller = new AbortController();
    const running = rejection(answer(engine(), long, controller.signal));
    controller.abort();
    expect((await running).name).to.equal('AbortError');
    await expectUsable();
  });

  it('abort: the reason of the signal does not change the error', async () => {
    const controller = new AbortController();
    const running = rejection(answer(engine(), long, controller.signal));
    controller.abort(new RangeError('a reason of this test'));
    expect((await running).name).to.equal('AbortError');
  });

  it('abort: while queued; the one before and the one after are right', async () => {
    const controller = new AbortController();
    const first = answer(engine(), requests[0]!);
    const queued = rejection(answer(engine(), long, controller.signal));
    const third = answer(engine(), requests[1]!);
    controller.abort();
    expect((await queued).name).to.equal('AbortError');
    expect((await first).text).to.equal(solo()[0]!.text);
    expect((await third).text).to.equal(solo()[1]!.text);
  });

  for (const [phase, after] of [
    ['at the start, before the first token', 0],
    ['after the first token', 1],
    ['in the middle of decoding', 4],
  ] as const)
    it(`abort: ${phase}`, async () => {
      const controller = new AbortController();
      const outcome = nextEvent(engine(), 'request');
      let tokens = 0;
      const run = async (): Promise<void> => {
        for await (const event of engine().generate(long, controller.signal)) {
          expect(controller.signal.aborted, 'no event after the abort').to.equal(false);
          if (event.type === 'delta') tokens += event.tokens.length;
          if (tokens >= after) controller.abort();
        }
      };
      expect((await rejection(run())).name).to.equal('AbortError');
      const { trace } = await outcome;
      expect(trace.usage.completionTokens).to.equal(trace.tokenTimesMs.length);
      await expectUsable();
    });

  it('abort: after the end it does nothing', async () => {
    const controller = new AbortController();
    const { text } = await answer(engine(), requests[0]!, controller.signal);
    controller.abort();
    expect(text).to.equal(solo()[0]!.text);
    await expectUsable();
  });

  it('generate: leaving the loop by break aborts, and the next request is right', async () => {
    const outcome = nextEvent(engine(), 'request');
    for await (const event of engine().generate(long)) if (event.type === 'delta') break;
    expect((await outcome).outcome).to.equal('aborted');
    await expectUsable();
  });

  it('generate: a throw in the consumer aborts, comes through, and the next request is right', async () => {
    const outcome = nextEvent(engine(), 'request');
    const run = async (): Promise<void> => {
      for await (const event of engine().generate(long))
        if (event.type === 'delta') throw new RangeError('the consumer broke');
    };
    expect((await rejection(run())).message).to.equal('the consumer broke');
    expect((await outcome).outcome).to.equal('aborted');
    await expectUsable();
  });

  it('generate: iterators that are never consumed do not keep the next request waiting', async () => {
    engine().generate(requests[0]!);
    engine().generate(requests[1]!)[Symbol.asyncIterator]();
    await expectUsable();
  });

  it('generate: an iterator left after its first event does not keep the next request waiting', async () => {
    const iterator = engine().generate(requests[0]!)[Symbol.asyncIterator]();
    expect((await iterator.next()).done).to.equal(false);
    await expectUsable();
  });

  it('generate: 20 requests, every second one aborted at another point, give solo answers in order', async () => {
    const runs = Array.from({ length: 20 }, async (_, index) => {
      const which = index % requests.length;
      if (index % 2 === 0) return (await answer(engine(), requests[which]!)).text === solo()[which]!.text;
      let events = 0;
      for await (const { type } of engine().generate(long)) if (type === 'end' || events++ >= index % 5) break;
      return true;
    });
    expect(await Promise.all(runs)).to.deep.equal(runs.map(() => true));
  });
}
