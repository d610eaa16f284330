import { expect } from 'chai';
import { EventQueue } from '../../shared/event-queue.ts';
import type { TokenEvent } from '../../shared/generation.ts';
import { createTokenDecoder } from '../text/token-decoder.ts';
import { runTokens, sequenceOptions } from '../backends/testing/run-tokens.ts';
import type { SchedulerCache } from './admission.ts';
import { OutputText } from './output-text.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import { Sequence } from './sequence.ts';
import { bytesOf, byteTokenizer } from './testing/byte-tokenizer.ts';
import { collect, settle } from './testing/collect.ts';
import { FakeBackend, type FakeBackendOptions } from './testing/fake-backend.ts';
import { TraceRecord } from '../request/trace-record.ts';

const clock = { now: () => 0 };

function schedule(
  backendOptions: FakeBackendOptions,
  options: Partial<SchedulerOptions> = {},
): { backend: FakeBackend; scheduler: Scheduler } {
  const backend = new FakeBackend(backendOptions);
  const scheduler = new Scheduler({
    backend,
    now: () => 0,
    onStep: () => undefined,
    onLost: () => undefined,
    ...options,
  });
  return { backend, scheduler };
}

function makeSequence(prompt: string, stopIds: readonly number[], maxTokens = 10) {
  const queue = new EventQueue<TokenEvent>();
  const sequence = new Sequence({
    record: new TraceRecord(prompt, 0, clock, () => false),
    queue,
    prepare: () => ({
      promptTokens: bytesOf(prompt),
      maxTokens,
      stopIds: new Set(stopIds),
      options: sequenceOptions(),
      text: new OutputText(createTokenDecoder(byteTokenizer), []),
    }),
    onEnded: () => undefined,
  });
  return { sequence, queue };
}

describe('Scheduler', () => {
  it('Scheduler: what is kept after a stop is the prompt and the answer, whatever ran ahead', async () => {
    const prompt = 'What is TTFT?';
    const alone = await runTokens(new FakeBackend(), bytesOf(prompt), 10);
    for (const runAhead of [1, 2, 3]) {
      let keepLength = 0;
      let length = 0;
      const cache: SchedulerCache = {
        restore: () => Promise.resolve({ memoryTokens: 0, storedTokens: 0 }),
        keep: (id, tokens) => {
          keepLength = tokens.length;
          length = backend.sequenceLength(id);
        },
      };
      const { backend, scheduler } = schedule({ capabilities: { runAhead }, completion: 'task' }, { cache });
      const { sequence, queue } = makeSequence(prompt, [alone[4]!]);
      scheduler.enqueue(sequence);
      const { ids } = await collect(queue);
      expect(ids).to.deep.equal(alone.slice(0, ids.length));
      await settle();
      expect(keepLength).to.equal(bytesOf(prompt).length + ids.length);
      expect(length, 'run-ahead appended more').to.equal(bytesOf(prompt).length + ids.length - 1 + (runAhead - 1));
    }
  });

  it('Scheduler: several sequences in one step give what each gives alone', async () => {
    const prompts = ['What is TTFT?', 'KV', 'A longer prompt, of more than one chunk', 'x'];
    const { backend, scheduler } = schedule({
      capabilities: { runAhead: 3, maxStepTokens: 16, maxBatch: 3 },
      completion: 'task',
    });
    const runs = prompts.map((prompt) => {
      const { sequence, queue } = makeSequence(prompt, []);
      scheduler.enqueue(sequence);
      return collect(queue);
    });
    const answers = await Promise.all(runs);
    for (const [index, prompt] of prompts.entries())
      expect(answers[index]!.ids).to.deep.equal(await runTokens(new FakeBackend(), bytesOf(prompt), 10));
    expect(Math.max(...backend.given.map((rows) => rows.length))).to.equal(3);
    expect(backend.openSequences).to.equal(0);
  });

  it('Scheduler: its loop rests when there is nothing to do, and starts again', async () => {
    const { scheduler } = schedule({});
    const original = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'postMessage')!;
    const post = original.value as (this: MessagePort, message: unknown) => void;
    let turns = 0;
    MessagePort.prototype.postMessage = function (this: MessagePort, message: unknown) {
      turns += 1;
      post.call(this, message);
    };
    try {
      for (let round = 0; round < 2; round++) {
        const { sequence, queue } = makeSequence('x', []);
        scheduler.enqueue(sequence);
        await collect(queue);
        await settle();
        expect(turns, 'it turned while there was work').to.be.greaterThan(0);
        turns = 0;
        await settle();
        expect(turns, 'and not afterwards').to.equal(0);
      }
    } finally {
      Object.defineProperty(MessagePort.prototype, 'postMessage', original);
    }
  });
});
