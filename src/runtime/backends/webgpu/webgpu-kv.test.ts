import { expect } from 'chai';
import { makeSyntheticGguf, SHAPES } from '../../models/testing/synthetic-model.ts';
import type { Backend, BackendKv } from '../backend.ts';
import { kvContract } from '../testing/kv-contract.ts';
import { kvRoomContract } from '../testing/kv-room-contract.ts';
import { continueSequence, sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from './testing/memory-source.ts';

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

describe('WebGpuKv', () => {
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
