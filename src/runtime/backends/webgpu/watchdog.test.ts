import { expect } from 'chai';
import { makeSyntheticGguf } from '../../models/testing/synthetic-model.ts';
import { sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';
import { Watchdog } from './watchdog.ts';

const LIMIT_MS = 1000;
const never = <T = void>(): Promise<T> => new Promise(() => undefined);
const rejection = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

/** Time that goes on when it is told to. */
function handTimer() {
  let current: (() => void) | undefined;
  return {
    every: (_ms: number, tick: () => void): (() => void) => {
      current = tick;
      return () => (current = undefined);
    },
    isRunning: () => current !== undefined,
    tick: (times: number) => {
      for (let i = 0; i < times; i++) current?.();
    },
  };
}

describe('Watchdog', () => {
  it('watch: without an answer for the whole limit every waiting call is rejected, and the owner told once', async () => {
    const timer = handTimer();
    const stuck: Error[] = [];
    const watchdog = new Watchdog(LIMIT_MS, (error) => stuck.push(error), timer.every);
    const waiting = [rejection(watchdog.watch('read a step', never())), rejection(watchdog.watch('read KV', never()))];
    timer.tick(4);
    expect(stuck).to.deep.equal([]);
    timer.tick(1);
    const [first, second] = await Promise.all(waiting);
    expect(first).to.include({
      code: 'watchdog',
      message: 'Cannot read a step: the GPU did not answer within 1000 ms; load the model again',
    });
    expect(second).to.equal(first);
    expect(stuck).to.deep.equal([first]);
    expect(timer.isRunning()).to.equal(false);
  });

  it('watch: each answer begins the limit anew, however long a call has been waiting', async () => {
    const timer = handTimer();
    const watchdog = new Watchdog(LIMIT_MS, () => expect.fail('the device is alive'), timer.every);
    let answerLast: (value: string) => void = () => undefined;
    const last = watchdog.watch('read the last step', new Promise<string>((resolve) => (answerLast = resolve)));
    for (let step = 0; step < 5; step++) {
      timer.tick(3);
      expect(await watchdog.watch('read a step', Promise.resolve(step))).to.equal(step);
    }
    answerLast('done');
    expect(await last).to.equal('done');
  });

  it('watch: results and errors come through, and the timer ends when nothing is waited for', async () => {
    const timer = handTimer();
    const watchdog = new Watchdog(LIMIT_MS, () => expect.fail('the device is alive'), timer.every);
    const error = new RangeError('x');
    expect(await rejection(watchdog.watch('read', Promise.reject(error)))).to.equal(error);
    expect(timer.isRunning()).to.equal(true);
    timer.tick(1);
    expect(timer.isRunning()).to.equal(false);
    timer.tick(9);
    expect(await watchdog.watch('read', Promise.resolve(7))).to.equal(7);
  });
});

describe('webgpu backend: a GPU that hangs', () => {
  it('step: rejects with watchdog, all in flight and later ones too, and what was allocated is given back', async () => {
    const sizes = { layers: 1, hidden: 64, heads: 2, kvHeads: 1, ffn: 96, vocab: 320 } as const;
    const gguf = makeSyntheticGguf({ ...sizes, architecture: 'llama', quantization: 'Q4_0' });
    const timer = handTimer();
    const backend = await createWebGpuBackend({
      source: memorySource(gguf),
      path: 'model.gguf',
      contextTokens: 64,
      maxBatch: 1,
      watchdog: { every: timer.every },
    });
    const sequence = backend.openSequence(sequenceOptions());
    const step = () => backend.step([{ sequence, input: [7], sample: true, isPrompt: true }]);
    await step();
    const { prototype } = GPUBuffer;
    const mapAsync = Reflect.get(prototype, 'mapAsync');
    prototype.mapAsync = () => never<undefined>();
    try {
      const pending = [step(), step()].map(rejection);
      timer.tick(5);
      for (const error of await Promise.all(pending)) expect(error).to.have.property('code', 'watchdog');
      expect(await backend.lost).to.have.property('code', 'watchdog');
      expect(await rejection(step())).to.have.property('code', 'watchdog');
      await backend.dispose();
      expect(backend.liveGpuBytes).to.equal(0);
      expect(timer.isRunning()).to.equal(false);
    } finally {
      prototype.mapAsync = mapAsync;
    }
  });
});
