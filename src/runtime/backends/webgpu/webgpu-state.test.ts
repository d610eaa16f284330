import { expect } from 'chai';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import type { Backend, SequenceId } from '../backend.ts';
import { backendContract } from '../testing/backend-contract.ts';
import { kvContract } from '../testing/kv-contract.ts';
import { continueSequence, sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';

/** Models whose layers have state that is no KV. */
const MODELS: readonly SyntheticModel[] = [
  { ...SHAPES.small, architecture: 'lfm2', quantization: 'Q8_0', layers: 3 },
  { ...SHAPES.small, architecture: 'qwen35', quantization: 'Q8_0', layers: 4 },
  { ...SHAPES.small, architecture: 'granitehybrid', quantization: 'Q8_0', layers: 3 },
];

/** Log-probabilities of the same tokens by kernels for one row and for several. */
const TOLERANCE = 2e-3;

for (const model of MODELS) {
  const { architecture, vocab } = model;
  const promptTokens = Array.from({ length: 100 }, (_, index) => (index * 37 + 11) % vocab);
  const make = (contextTokens: number, maxBatch: number): Promise<Backend> =>
    createWebGpuBackend({
      source: memorySource(makeSyntheticGguf(model)),
      path: 'model.gguf',
      contextTokens,
      maxBatch,
      maxStepTokens: 64,
    });

  backendContract(`webgpu, ${architecture}`, () => make(192, 3), {
    promptTokens: promptTokens.slice(0, 40),
    timeoutMs: 240_000,
    fillsContext: false,
  });

  kvContract(`webgpu, ${architecture}`, () => make(192, 2), { promptTokens, tokens: 3 });

  describe(`webgpu backend: state of ${architecture}`, () => {
    it('truncate: a sequence goes on from any length as one that never was longer', async () => {
      const backend = await make(192, 2);
      try {
        const next = [7, 8, 9];
        const logprobs = async (sequence: SequenceId): Promise<number[]> => {
          const { rows } = await backend.step([{ sequence, input: next, sample: 'each', isPrompt: false }]);
          return rows[0]!.tokens!.map(({ logprob }) => logprob!);
        };
        const long = [...promptTokens, ...promptTokens.slice(3, 40)];
        // Within the last step, at and beside ends of blocks, further back than a step takes, and at the beginning.
        for (const length of [136, 130, 128, 127, 97, 64, 33, 2, 0]) {
          const sequence = backend.openSequence(sequenceOptions({}, 1));
          await continueSequence(backend, sequence, long, 2);
          backend.truncate(sequence, length);
          const actual = await logprobs(sequence);
          backend.closeSequence(sequence);
          const fresh = backend.openSequence(sequenceOptions({}, 1));
          await continueSequence(backend, fresh, long.slice(0, length), 0);
          const expected = await logprobs(fresh);
          backend.closeSequence(fresh);
          for (const [index, value] of expected.entries())
            expect(actual[index], `${index} after ${length}`).to.be.closeTo(value, TOLERANCE);
        }
      } finally {
        await backend.dispose();
      }
    });
  });
}
