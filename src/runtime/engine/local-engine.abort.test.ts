import { expect } from 'chai';
import { answer, nextEvent, rejection, settle } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { LONG } from './testing/requests.ts';

describe('LocalEngine abort', () => {
  for (const [phase, given, completed] of [
    ['prefill, between chunks', 2, 1],
    ['prefill, in the first chunk', 1, 0],
    ['decode', 8, 7],
  ] as const)
    it(`abort: during ${phase}: no further step is given, the sequence is closed, the next request is right`, async () => {
      const { engine, backend } = createFakeEngine({ completion: 'manual', capabilities: { maxStepTokens: 16 } });
      const controller = new AbortController();
      const running = rejection(answer(engine, LONG, controller.signal));
      for (let step = 1; step <= given; step++) {
        await backend.whenGiven(step);
        if (step <= completed) backend.complete();
      }
      const aborted = nextEvent(engine, 'request');
      controller.abort();
      expect((await running).name, 'rejects before the step in flight has ended').to.equal('AbortError');
      expect((await aborted).outcome).to.equal('aborted');
      expect(backend.openSequences).to.equal(0);
      backend.complete();
      await settle();
      expect(backend.given).to.have.length(given);
      expect(backend.pendingSteps).to.equal(0);
      backend.release();
      const fresh = createFakeEngine({ capabilities: { maxStepTokens: 16 } }).engine;
      expect((await answer(engine, LONG)).text).to.equal((await answer(fresh, LONG)).text);
    });

  it('abort: while queued no step is given for it', async () => {
    const { engine, backend } = createFakeEngine(
      { completion: 'manual', capabilities: { maxStepTokens: 64 } },
      { scheduling: { policy: 'latency' } },
    );
    const controller = new AbortController();
    const first = answer(engine, { ...LONG, maxTokens: 1 });
    const queued = rejection(answer(engine, LONG, controller.signal));
    await backend.whenGiven(1);
    controller.abort();
    expect((await queued).name).to.equal('AbortError');
    backend.release();
    await first;
    await settle();
    expect(backend.given).to.have.length(1);
  });

  it('abort: while the prompt is being tokenized', async () => {
    let tokenized!: (ids: number[]) => void;
    const encodePrompt = (): Promise<number[]> => new Promise((resolve) => (tokenized = resolve));
    const { engine, backend } = createFakeEngine({}, { encodePrompt });
    const controller = new AbortController();
    const running = rejection(answer(engine, LONG, controller.signal));
    await settle();
    controller.abort();
    expect((await running).name).to.equal('AbortError');
    tokenized([1, 2, 3]);
    await settle();
    expect(backend.given).to.have.length(0);
    expect(backend.openSequences).to.equal(0);
  });

  it('abort: no listener stays on a signal that outlives its requests', async () => {
    const { engine } = createFakeEngine();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await answer(engine, LONG, signal);
    await rejection(answer(engine, { prompt: '' }, signal));
    expect(listeners).to.be.at.most(0);
  });
});
