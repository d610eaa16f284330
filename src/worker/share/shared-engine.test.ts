import { expect } from 'chai';
import type { EngineEvents } from '../../runtime/request/engine.ts';
import { answer, collect, nextEvent, rejection } from '../../runtime/engine/testing/collect.ts';
import type { GenerateRequest, TokenEvent } from '../../shared/generation.ts';
import { shareFake, startedHosts } from './testing/fake-share.ts';
import { openTab } from './testing/tab.ts';

const REQUEST: GenerateRequest = { prompt: 'The quick brown fox', maxTokens: 12, ignoreEos: true };
const LONG: GenerateRequest = { ...REQUEST, maxTokens: 3000 };

/** Engines of that name that were made, in whatever thread: waits for that many to be told of, and gives how many there were. */
function countMade(model: string): { made: (least: number) => Promise<number> } {
  let made = 0;
  let onMade: (() => void) | undefined;
  const channel = new BroadcastChannel(`made ${model}`);
  channel.onmessage = () => {
    made += 1;
    onMade?.();
  };
  return {
    made: async (least) => {
      while (made < least) await new Promise<void>((resolve) => (onMade = resolve));
      return made;
    },
  };
}

/** Reads the first text of an answer, and leaves it running. */
async function begun(events: AsyncIterable<TokenEvent>): Promise<AsyncIterator<TokenEvent>> {
  const iterator = events[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next();
    if (next.done || next.value.type === 'delta') return iterator;
  }
}

for (const place of ['tab', 'shared-worker'] as const)
  describe(`shareEngine, in a ${place}`, () => {
    /** No test shares with another. */
    let count = 0;
    const fresh = (kind = 'fake'): string => `${kind}-${place}-${++count}`;

    it('shareEngine: two clients of a page use one engine, and a step has requests of both', async () => {
      const model = fresh();
      const { made } = countMade(model);
      const engines = [await shareFake(model, { place }), await shareFake(model, { place })] as const;
      const batches: number[] = [];
      engines[0].metrics.on('step', ({ batch }) => batches.push(batch));
      const answers = await Promise.all(engines.map((engine) => answer(engine, { ...REQUEST, maxTokens: 200 })));
      expect(answers[0]!.ids).to.deep.equal(answers[1]!.ids);
      expect(Math.max(...batches)).to.equal(2);
      expect(await made(1)).to.equal(1);
      for (const { info } of engines) {
        expect(info.shared).to.equal(place === 'tab' ? 'this-tab' : 'shared-worker');
        expect(info.worker).to.equal(true);
      }
      for (const engine of engines) await engine[Symbol.asyncDispose]();
    });

    it('dispose: of one leaves the other its answer; after the last one, the next makes a new engine', async () => {
      const model = fresh();
      const { made } = countMade(model);
      const [first, second] = [await shareFake(model, { place }), await shareFake(model, { place })] as const;
      const own = rejection(answer(first, LONG));
      const others = answer(second, { ...REQUEST, maxTokens: 300 });
      await nextEvent(second, 'step');
      await first[Symbol.asyncDispose]();
      expect((await own).code).to.equal('disposed');
      expect((await others).ids).to.have.length(300);
      expect((await rejection(answer(first, REQUEST))).code).to.equal('disposed');
      await second[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
      const third = await shareFake(model, { place });
      expect((await answer(third, REQUEST)).ids).to.have.length(12);
      expect(await made(2)).to.equal(2);
      await third[Symbol.asyncDispose]();
    });

    it('generate: an abort ends the request of its client alone', async () => {
      const model = fresh();
      const [first, second] = [await shareFake(model, { place }), await shareFake(model, { place })] as const;
      const controller = new AbortController();
      const aborted = rejection(answer(first, LONG, controller.signal));
      const others = answer(second, { ...REQUEST, maxTokens: 200 });
      await nextEvent(first, 'step');
      controller.abort();
      expect((await aborted).name).to.equal('AbortError');
      expect((await others).ids).to.have.length(200);
      for (const engine of [first, second]) await engine[Symbol.asyncDispose]();
    });

    it('load: an error is told to all who wait, and the abort of one leaves the others their load', async () => {
      const failing = fresh('fails');
      const errors = await Promise.all([0, 1].map(() => rejection(shareFake(failing, { place }))));
      for (const error of errors) expect(error.code).to.equal('model-invalid');
      const model = fresh('loads-for-ever');
      const { made } = countMade(model);
      const [one, other] = [new AbortController(), new AbortController()];
      const progressed = new Promise((resolve) => {
        void rejection(shareFake(model, { place }, { signal: other.signal, onProgress: resolve }));
      });
      const first = rejection(shareFake(model, { place }, { signal: one.signal, onProgress: () => one.abort() }));
      expect((await first).name).to.equal('AbortError');
      await progressed;
      expect(await made(1)).to.equal(1);
      other.abort();
    });

    it('name: the same options share, others are refused with the field, and without a name they do not meet', async () => {
      const name = fresh('name');
      const model = fresh();
      const engine = await shareFake(model, { name, place });
      const same = await shareFake(model, { name, place });
      const error = await rejection(shareFake(model, { name, place }, { contextTokens: 128 }));
      expect(error).to.include({ code: 'invalid-request' });
      expect((error as unknown as { details: unknown }).details).to.deep.equal({ field: 'share' });
      const { made } = countMade(model);
      const apart = [await shareFake(model, { place }), await shareFake(model, { place }, { contextTokens: 128 })];
      expect(await made(2)).to.equal(2);
      for (const one of [engine, same, ...apart]) await one[Symbol.asyncDispose]();
    });

    it('a tab that is closed: its answers end, told as failed, and those of the others go on', async () => {
      const model = fresh();
      const engine = await shareFake(model, { place });
      const { tab, close } = await openTab();
      const inTab = await tab.shareFake(model, { place });
      expect(inTab.info.shared).to.equal(place === 'tab' ? 'another-tab' : 'shared-worker');
      const own = answer(engine, { ...REQUEST, maxTokens: 400 });
      await begun(inTab.generate(LONG));
      const outcomes: EngineEvents['request']['outcome'][] = [];
      engine.metrics.on('request', ({ outcome }) => outcomes.push(outcome));
      const ended = nextEvent(engine, 'request');
      close();
      expect((await ended).outcome).to.equal('failed');
      expect((await own).ids).to.have.length(400);
      expect(outcomes).to.deep.equal(['failed', 'completed']);
      await engine[Symbol.asyncDispose]();
    });
  });

describe('shareEngine: handing over', () => {
  it('host: when its tab is closed, running answers end with worker-dead, and what is asked next is answered by another tab', async () => {
    const model = 'handover';
    const { made } = countMade(model);
    const { tab, close } = await openTab();
    await tab.shareFake(model, { place: 'tab' });
    const engines = [await shareFake(model, { place: 'tab' }), await shareFake(model, { place: 'tab' })] as const;
    expect(engines.map(({ info }) => info.shared)).to.deep.equal(['another-tab', 'another-tab']);
    const steps: unknown[] = [];
    engines[1].metrics.on('step', (step) => steps.push(step));
    const running = await begun(engines[0].generate(LONG));
    close();
    let error: unknown;
    while (!error) await running.next().catch((caught: unknown) => (error = caught));
    expect(error).to.have.property('code', 'worker-dead');
    expect(error).to.have.property('message').that.includes('ask again');
    steps.length = 0;
    const answers = await Promise.all(engines.map((engine) => answer(engine, REQUEST)));
    for (const { ids } of answers) expect(ids).to.have.length(12);
    expect(steps, 'metrics go on').not.to.have.length(0);
    expect(engines.map(({ info }) => info.shared)).to.deep.equal(['this-tab', 'this-tab']);
    expect(await made(2)).to.equal(2);
    for (const engine of engines) await engine[Symbol.asyncDispose]();
  });

  it('host: a worker that dies is replaced, and a request in between waits, and can be aborted', async () => {
    const model = 'replaced';
    const engine = await shareFake(model, { place: 'tab' });
    const counted = await engine.countTokens({ prompt: 'four' });
    const dead = rejection(collect(engine.generate(LONG)));
    startedHosts.at(-1)!.terminate();
    expect((await dead).code).to.equal('worker-dead');
    const controller = new AbortController();
    const waiting = [answer(engine, REQUEST), engine.countTokens({ prompt: 'four' })] as const;
    const aborted = rejection(answer(engine, REQUEST, controller.signal));
    controller.abort();
    expect((await aborted).name).to.equal('AbortError');
    expect((await waiting[0]).ids).to.have.length(12);
    expect(await waiting[1]).to.equal(counted);
    await engine[Symbol.asyncDispose]();
  });

  it('host: one that dies each time it loads is given up with worker-dead', async () => {
    const error = await rejection(shareFake('dies-loading', { place: 'tab' }));
    expect(error.code).to.equal('worker-dead');
  });

  it('host: the page that disposes of its engine goes on hosting it for the others', async () => {
    const model = 'stays';
    const { made } = countMade(model);
    const first = await shareFake(model, { place: 'tab' });
    const { tab, close } = await openTab();
    const inTab = await tab.shareFake(model, { place: 'tab' });
    await first[Symbol.asyncDispose]();
    expect((await answer(inTab, REQUEST)).ids).to.have.length(12);
    expect(await made(1)).to.equal(1);
    close();
  });
});
