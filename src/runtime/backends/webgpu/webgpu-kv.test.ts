import { expect } from 'chai';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import type { Backend, BackendKv } from '../backend.ts';
import { kvContract } from '../testing/kv-contract.ts';
import { kvRoomContract } from '../testing/kv-room-contract.ts';
import { continueSequence, sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';

const model = { architecture: 'llama', quantization: 'Q4_0', ...SHAPES.tiny } as const;
const promptTokens = Array.from({ length: 100 }, (_, index) => (index * 37 + 11) % model.vocab);

const make = (contextTokens: number, maxBatch: number, kvTokens?: number): Promise<Backend> =>
  createWebGpuBackend({
    source: memorySource(makeSyntheticGguf(model)),
    path: 'model.gguf',
    contextTokens,
    maxBatch,
    ...(kvTokens !== undefined && { kvTokens }),
  });

kvContract('webgpu', () => make(256, 2), { promptTokens, tokens: 3 });

kvRoomContract('webgpu', () => make(128, 2, 192), promptTokens.slice(0, 40));

/** Models with the very same tensors as the first of their row, whose KV has other values. */
const LIKE_MODELS: Record<string, readonly [SyntheticModel, ...SyntheticModel[]]> = {
  llama: [
    { ...model },
    { ...model, ropeBase: 20_000 },
    { ...model, ropeShare: 0.5 },
    { ...model, ropeScaling: 'linear' },
    { ...model, ropeScaling: 'yarn' },
    { ...model, normEps: 0.01 },
  ],
  gemma3: [
    { ...model, architecture: 'gemma3', window: 16 },
    { ...model, architecture: 'gemma3', window: 32 },
  ],
};

describe('PoolKv on WebGPU', () => {
  for (const [architecture, models] of Object.entries(LIKE_MODELS))
    it(`format: models of ${architecture} with the same tensors and another config have KV of another format`, async () => {
      const formats = new Set<string>();
      const fingerprints = new Set<string>();
      for (const like of models) {
        const backend = await createWebGpuBackend({
          source: memorySource(makeSyntheticGguf(like)),
          path: 'model.gguf',
          contextTokens: 128,
        });
        formats.add(backend.kv.format);
        fingerprints.add(backend.info.model.fingerprint);
        await backend.dispose();
      }
      expect(fingerprints.size, 'the tensors are the same').to.equal(1);
      expect(formats.size).to.equal(models.length);
    });

  it('format: the factors that a context chooses, and the arithmetic of prompts, are part of it', async () => {
    const gguf = makeSyntheticGguf({ ...model, architecture: 'phi3', ropeScaling: 'longrope', context: 1024 });
    const formatOf = async (options: {
      contextTokens: number;
      prefillPrecision?: 'exact' | 'fast';
    }): Promise<string> => {
      const backend = await createWebGpuBackend({ source: memorySource(gguf), path: 'model.gguf', ...options });
      await backend.dispose();
      return backend.kv.format;
    };
    const short = await formatOf({ contextTokens: 256 });
    expect(await formatOf({ contextTokens: 512 }), 'long factors').not.to.equal(short);
    expect(await formatOf({ contextTokens: 128 }), 'short factors too').to.equal(short);
    expect(await formatOf({ contextTokens: 256, prefillPrecision: 'fast' })).not.to.equal(short);
  });

  it('onMemoryNeeded: held blocks give way to a sequence, and without it the step is refused', async () => {
    // A pool of one context: four blocks.
    const backend = (await make(128, 1)) as Backend & { kv: BackendKv };
    const { kv } = backend;
    const run = async (): Promise<number[]> => {
      const sequence = backend.openSequence(sequenceOptions());
      try {
        return (await continueSequence(backend, sequence, promptTokens, 1)).map(({ token }) => token!);
      } finally {
        backend.closeSequence(sequence);
      }
    };
    const sequence = backend.openSequence(sequenceOptions());
    const cold = (await continueSequence(backend, sequence, promptTokens, 1)).map(({ token }) => token!);
    const held = await kv.hold(sequence, 0, 3);
    backend.closeSequence(sequence);
    const error: unknown = await run().catch((caught: unknown) => caught);
    expect(error).to.have.property('code', 'context-overflow');
    let asked = 0;
    kv.onMemoryNeeded = () => {
      asked += 1;
      const last = held.pop();
      if (last) kv.release([last]);
      return last !== undefined;
    };
    expect(await run()).to.deep.equal(cold);
    expect(asked).to.equal(3);
    await backend.dispose();
  });
});
