import { expect } from 'chai';
import { createBuiltInSource, TUTOR_GGUF } from '../../models/builtin.ts';
import { createLlamaCpp } from '../../models/testing/llama-cpp.ts';
import { memorySource } from '../../models/testing/memory-source.ts';
import { makeSyntheticGguf, SHAPES } from '../../models/testing/synthetic-model.ts';
import type { Backend } from '../backend.ts';
import { backendContract } from '../testing/backend-contract.ts';
import { kvContract } from '../testing/kv-contract.ts';
import { kvRoomContract } from '../testing/kv-room-contract.ts';
import { runTokens } from '../testing/run-tokens.ts';
import { createWasmBackend, type WasmBackendOptions } from './create-wasm-backend.ts';

const PROMPT = [1, 77, 301, 9, 1204, 55, 800, 31, 612, 4, 98];
const threadUrl = new URL('./thread.worker.ts', import.meta.url).href;

const tutor = (options: Partial<WasmBackendOptions> = {}): Promise<Backend> =>
  createWasmBackend({
    source: createBuiltInSource(new URL('../../../../models/tutor/', import.meta.url)),
    path: TUTOR_GGUF,
    contextTokens: 192,
    maxBatch: 3,
    ...options,
  });

backendContract('wasm, tutor', tutor, { promptTokens: PROMPT });
backendContract('wasm, tutor, two threads', () => tutor({ threads: 2, threadUrl }), { promptTokens: PROMPT });

const model = { architecture: 'llama', quantization: 'Q4_0', ...SHAPES.tiny } as const;
const promptTokens = Array.from({ length: 100 }, (_, index) => (index * 37 + 11) % model.vocab);
const small = (contextTokens: number, maxBatch: number, kvTokens?: number): Promise<Backend> =>
  createWasmBackend({
    source: memorySource(makeSyntheticGguf(model)),
    path: 'model.gguf',
    contextTokens,
    maxBatch,
    ...(kvTokens !== undefined && { kvTokens }),
  });

kvContract('wasm', () => small(256, 2), { promptTokens });
kvRoomContract('wasm', () => small(128, 2, 192), promptTokens.slice(0, 40));

describe('createWasmBackend', () => {
  it('step: greedy tokens of the tutor are those of llama.cpp', async () => {
    const backend = await tutor();
    const gguf = await (await fetch(new URL(`../../../../models/tutor/${TUTOR_GGUF}`, import.meta.url))).blob();
    await using llama = await createLlamaCpp(gguf);
    for (const content of ['Why is decoding memory-bound?', 'What is TTFT?', 'What does the KV cache hold?']) {
      const prompt = await llama.tokenize(await llama.formatChat([{ role: 'user', content }]));
      expect(await runTokens(backend, prompt, 40)).to.deep.equal(await llama.greedy(prompt, 40));
    }
    await backend.dispose();
  });

  it('threads: the tokens are the same for 1, 2 and 3 of them, and with plain SIMD log-probabilities are the same too', async () => {
    const prompt = Array.from({ length: 70 }, (_, index) => PROMPT[index % PROMPT.length]!);
    const sampling = { temperature: 1.2, seed: 5 };
    const one = await tutor();
    const expected = await runTokens(one, prompt, 20, sampling);
    await one.dispose();
    for (const options of [{ threads: 2, threadUrl }, { threads: 3, threadUrl }, { simd: 'plain' as const }]) {
      const backend = await tutor(options);
      expect(backend.info.threads).to.equal('threads' in options ? options.threads : 1);
      expect(await runTokens(backend, prompt, 20, sampling)).to.deep.equal(expected);
      await backend.dispose();
    }
  });

  it('threads: a number that is none is a RangeError', async () => {
    const error: unknown = await tutor({ threads: 0 }).catch((caught: unknown) => caught);
    expect(error).to.be.instanceOf(RangeError);
  });

  it('contextTokens: more than memory reaches is refused with the numbers, before weights are read', async () => {
    const gguf = makeSyntheticGguf({ ...model, context: 2 ** 22 });
    const error: unknown = await createWasmBackend({
      source: memorySource(gguf),
      path: 'model.gguf',
      contextTokens: 2 ** 22,
    }).catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'model-too-large');
    expect((error as { details: Record<string, number> }).details['largestContextTokens']).to.be.greaterThan(100_000);
  });

  it('signal: an aborted load rejects with AbortError', async () => {
    const controller = new AbortController();
    const error: unknown = await tutor({
      signal: controller.signal,
      onProgress: () => controller.abort(),
    }).catch((caught: unknown) => caught);
    expect(error).to.have.property('name', 'AbortError');
  });
});
