import { expect } from 'chai';
import type { GenerateRequest } from '../shared/generation.ts';
import type { Engine } from '../runtime/request/engine.ts';
import { answer, collect, rejection } from '../runtime/engine/testing/collect.ts';
import { createEngine } from './create-engine.ts';

/** Tokens of the prompts that lie around the borders of blocks. */
const BORDERS = [1, 31, 32, 33, 64, 65];

// Other prompts in each run, as a run before may have left its blocks in the browser's profile.
const run = crypto.randomUUID();
const SYSTEM = `Conversation ${run}. ${'You answer questions on how language models run in web pages, in one sentence. '.repeat(10)}`;

const ask = (question: string): GenerateRequest => ({
  messages: [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: question },
  ],
  maxTokens: 16,
  ignoreEos: true,
  sampling: { temperature: 0 },
});

const wholeBlocks = (tokens: number): number => Math.floor(tokens / 32) * 32;

for (const name of ['onnx-wasm', 'webgpu'] as const)
  describe(`prefix cache of the built-in model, ${name}`, () => {
    const outputs = name === 'webgpu' ? 6 : 16;
    const question = { ...ask('What is TTFT?'), maxTokens: outputs };
    const other = { ...ask('Why is decoding memory-bound?'), maxTokens: outputs };
    const borders = (name === 'webgpu' ? [32, 33, 65] : BORDERS).map((length, index) => ({
      promptTokens: Array.from({ length }, (_, at) => 300 + ((at * 31 + index * 7 + run.charCodeAt(0)) % 900)),
      maxTokens: 3,
      ignoreEos: true,
      sampling: { temperature: 0 },
    }));
    const expected: number[][] = [];
    const requests = [question, other, ...borders];

    const using = async (
      options: { worker?: boolean; prefixCache?: boolean },
      work: (engine: Engine) => Promise<void>,
    ) => {
      const engine = await createEngine({ model: 'tutor', engine: name, worker: false, ...options });
      try {
        await work(engine);
      } finally {
        await engine[Symbol.asyncDispose]();
      }
    };

    it('generate: cold, and off, nothing is cached', () =>
      using({ prefixCache: false }, async (engine) => {
        expect(engine.prefixCache).to.equal(undefined);
        for (const request of requests) {
          const { ids, end } = await answer(engine, request);
          expect(end.usage.cachedTokens).to.equal(0);
          expect(end.usage).not.to.have.property('cachedByTier');
          expected.push(ids);
        }
      }));

    it('generate: the first answer computes, a regenerated one and another question on the same system prompt do not', () =>
      using({}, async (engine) => {
        const first = await answer(engine, question);
        expect(first.ids).to.deep.equal(expected[0]);
        expect(first.end.usage.cachedTokens).to.equal(0);
        await engine.prefixCache!.stats();
        const again = await answer(engine, question);
        expect(again.ids).to.deep.equal(expected[0]);
        expect(again.end.usage.cachedByTier).to.deep.equal({
          memory: wholeBlocks(again.end.usage.promptTokens - 1),
          stored: 0,
        });
        const second = await answer(engine, other);
        expect(second.ids).to.deep.equal(expected[1]);
        expect(second.end.usage.cachedTokens).to.be.greaterThan(second.end.usage.promptTokens - 64);
        expect(second.end.trace.marks.cacheReadyMs).to.be.a('number');
        for (const request of borders) await answer(engine, request);
      }));

    it('generate: after a reload, in a worker, everything is restored and the tokens are the same', () =>
      using({ worker: true }, async (engine) => {
        for (const [index, request] of requests.entries()) {
          const { ids, end } = await answer(engine, request);
          expect(ids, `request ${index}`).to.deep.equal(expected[index]);
          const { memory, stored } = end.usage.cachedByTier!;
          expect(memory + stored).to.equal(wholeBlocks(end.usage.promptTokens - 1));
          expect(stored > 0).to.equal(index !== 1 && end.usage.promptTokens > 32);
        }
        const stats = await engine.prefixCache!.stats();
        expect(stats.stored!.rejected).to.equal(0);
        expect(stats.bytesPerToken).to.equal(engine.info.model.kvBytesPerToken);
      }));

    it('generate: the next turn of a chat computes neither the prompt nor the answer before it', async function () {
      if (name === 'webgpu') this.skip(); // the same code, and a load takes its time
      await using({}, async (engine) => {
        const turn = { ...question, maxTokens: 200, ignoreEos: false };
        const first = await answer(engine, turn);
        expect(first.end.finishReason).to.equal('stop');
        await engine.prefixCache!.stats();
        const messages = [
          ...turn.messages!,
          { role: 'assistant', content: first.text },
          { role: 'user', content: 'And why?' },
        ] as const;
        const next = { messages, maxTokens: 8, ignoreEos: true, sampling: { temperature: 0 } };
        const second = await answer(engine, next);
        // The template and the tokenizer give the ids that were generated; the last one, the end token, was never fed.
        const { promptTokens, completionTokens } = first.end.usage;
        expect(second.end.usage.cachedTokens).to.equal(wholeBlocks(promptTokens + completionTokens - 1));
        await using({ prefixCache: false }, async (plain) => {
          expect((await answer(plain, next)).ids).to.deep.equal(second.ids);
        });
      });
    });

    it('resume: an answer whose worker was killed in the middle goes on with the same tokens', async function () {
      if (name === 'webgpu') this.skip(); // the same code, and a load takes its time
      const long = { ...question, maxTokens: 60 };
      const worker = new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module' });
      const killed = await createEngine({ model: 'tutor', engine: name, worker });
      const whole = await answer(killed, long);
      let tokens = 0;
      const run = async (): Promise<void> => {
        for await (const event of killed.generate(long)) {
          if (event.type === 'delta') tokens += event.tokens.length;
          if (tokens >= 20) worker.terminate();
        }
      };
      expect((await rejection(run())).code).to.equal('worker-dead');
      await using({ worker: true }, async (engine) => {
        const cut = (await engine.resumable!()).find(({ messages }) => messages?.[0]?.content === SYSTEM);
        expect(cut!.outputTokens).to.be.below(60);
        const resumed = await collect(engine.resume!(cut!.id));
        expect(resumed.text).to.equal(whole.text);
        expect(resumed.ids).to.deep.equal(whole.ids.slice(cut!.outputTokens));
        expect(resumed.end.usage.cachedTokens, 'its prompt was kept').to.be.greaterThan(32);
        const { firstTokenMs, firstDeliveredMs } = resumed.end.trace.marks;
        expect(firstDeliveredMs, 'TTFT is that of new text').to.be.at.least(firstTokenMs!);
        expect((await engine.resumable!()).map(({ id }) => id)).not.to.include(cut!.id);
      });
    });

    it('prefixCache: prefill, pin, inspect and clear through the worker', async function () {
      if (name === 'webgpu') this.skip(); // the same code, and a load takes its time
      await using({ worker: true }, async (engine) => {
        const cache = engine.prefixCache!;
        const messages = [{ role: 'system', content: `Another ${SYSTEM}` }] as const;
        const { promptTokens, cachedTokens } = await cache.prefill(messages);
        expect(cachedTokens).to.be.below(32);
        expect(await cache.pin(messages)).to.equal(wholeBlocks(promptTokens));
        const pinned = (await cache.inspect()).find((prefix) => prefix.pinned);
        expect(pinned).to.include({ memoryTokens: wholeBlocks(promptTokens), storedTokens: wholeBlocks(promptTokens) });
        expect(pinned!.preview).to.include('Another Conversation');
        await cache.unpin(messages);
        const asked = await answer(engine, {
          messages: [...messages, { role: 'user', content: 'Hello!' }],
          maxTokens: 2,
        });
        expect(asked.end.usage.cachedByTier!.memory).to.be.greaterThan(promptTokens - 64);
        const aborted: unknown = await cache.prefill(messages, AbortSignal.abort()).catch((error: unknown) => error);
        expect(aborted).to.have.property('name', 'AbortError');
      });
    });
  });
