import { expect } from 'chai';
import { TokenglassError } from '../../shared/errors.ts';
import { answer, nextEvent, rejection, settle } from './testing/collect.ts';
import { createFakeEngine } from './testing/fake-engine.ts';
import { endless, LONG } from './testing/requests.ts';

describe('LocalEngine faults', () => {
  it('generate: a step that fails surfaces from the iteration, after what was made before, and the engine goes on', async () => {
    const fault = new TokenglassError('numeric-fault', 'Cannot sample: the logits are not finite');
    const { engine, backend } = createFakeEngine({
      nextToken: endless,
      failStep: (step) => (step === 5 ? fault : undefined),
    });
    const failed = nextEvent(engine, 'request');
    let text = '';
    const run = async (): Promise<void> => {
      for await (const event of engine.generate(LONG)) if (event.type === 'delta') text += event.text;
    };
    expect(await rejection(run())).to.equal(fault);
    expect(text).to.equal('xxx');
    expect((await failed).outcome).to.equal('failed');
    expect(backend.openSequences).to.equal(0);
    expect((await answer(engine, LONG)).text).to.equal('x'.repeat(12));
  });

  for (const hang of [false, true])
    it(`lost: rejects what runs and waits, and later calls, at once (${hang ? 'steps never settle' : 'steps reject'})`, async () => {
      const { engine, backend } = createFakeEngine({ completion: 'manual', capabilities: { runAhead: 2 } });
      const running = rejection(answer(engine, LONG));
      const waiting = rejection(answer(engine, LONG));
      await backend.whenGiven(2);
      const lost = new TokenglassError('device-lost', 'Cannot go on: the device was lost');
      backend.lose(lost, hang);
      expect((await running).code).to.equal('device-lost');
      expect((await waiting).code).to.equal('device-lost');
      expect((await rejection(answer(engine, LONG))).code).to.equal('device-lost');
      expect((await rejection(engine.countTokens({ prompt: 'x' }))).code).to.equal('device-lost');
      await engine[Symbol.asyncDispose]();
    });

  it('lost: while idle it rejects the next call', async () => {
    const { engine, backend } = createFakeEngine();
    await answer(engine, LONG);
    backend.lose(new TokenglassError('device-lost', 'Cannot go on: the device was lost'));
    await settle();
    expect((await rejection(answer(engine, LONG))).code).to.equal('device-lost');
  });

  it('generate: a backend that gives no token, throws in step or cannot open a sequence fails that request only', async () => {
    const { engine, backend } = createFakeEngine({ nextToken: endless });
    const step = backend.step.bind(backend);
    const openSequence = backend.openSequence.bind(backend);
    backend.step = async (rows) => ({ ...(await step(rows)), rows: [] });
    expect((await rejection(answer(engine, LONG))).code).to.equal('internal');
    backend.step = () => {
      throw new RangeError('thrown, not rejected');
    };
    expect(await rejection(answer(engine, LONG))).to.be.instanceOf(RangeError);
    backend.step = step;
    backend.openSequence = () => {
      throw new TokenglassError('unsupported', 'Cannot open a sequence: no');
    };
    expect((await rejection(answer(engine, LONG))).code).to.equal('unsupported');
    backend.openSequence = openSequence;
    expect((await answer(engine, LONG)).text).to.equal('x'.repeat(12));
    expect(backend.openSequences).to.equal(0);
  });

  it('generate: a template that refuses the messages fails that request only', async () => {
    let refuses = true;
    const encodePrompt = (): number[] => {
      if (refuses)
        throw new TokenglassError('invalid-request', 'Cannot format: no', { details: { field: 'messages' } });
      return [1, 2, 3];
    };
    const { engine } = createFakeEngine({}, { encodePrompt });
    expect((await rejection(answer(engine, LONG))).code).to.equal('invalid-request');
    refuses = false;
    await answer(engine, LONG);
  });

  it('dispose: during a step waits for it and frees the backend, once', async () => {
    const { engine, backend } = createFakeEngine({ completion: 'manual' });
    const running = rejection(answer(engine, LONG));
    await backend.whenGiven(1);
    let disposed = false;
    const disposals = Promise.all([engine[Symbol.asyncDispose](), engine[Symbol.asyncDispose]()]);
    void disposals.then(() => (disposed = true));
    expect((await running).code, 'rejects at once').to.equal('disposed');
    await settle();
    expect(disposed).to.equal(false);
    backend.release();
    await disposals;
  });
});
