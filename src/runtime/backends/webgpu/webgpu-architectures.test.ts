import { expect } from 'chai';
import { agreement } from '../../models/testing/agreement.ts';
import { decisiveTokens } from '../../models/testing/decisive-tokens.ts';
import { createLlamaCpp } from '../../models/testing/llama-cpp.ts';
import { SeededRandom } from '../../models/testing/random.ts';
import { createReferenceModel } from '../../models/testing/reference-model.ts';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import type { Backend, BackendKv, SequenceId } from '../backend.ts';
import { backendContract } from '../testing/backend-contract.ts';
import { sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';

/** Positions that are compared, each with a clear favourite. */
const POSITIONS = 100;
/** Of logits, for weights and KV in f32. */
const TOLERANCE = 1e-3;

const MODELS: readonly Pick<SyntheticModel, 'architecture' | 'layers'>[] = [
  { architecture: 'lfm2', layers: 3 },
  { architecture: 'qwen35', layers: 4 },
  { architecture: 'qwen3moe', layers: 2 },
  { architecture: 'lfm2moe', layers: 3 },
  { architecture: 'smollm3', layers: 4 },
  { architecture: 'granite', layers: 2 },
  { architecture: 'granitemoe', layers: 2 },
  { architecture: 'minicpm', layers: 2 },
  { architecture: 'gemma2', layers: 2 },
  { architecture: 'exaone4', layers: 2 },
  { architecture: 'glm4', layers: 2 },
  { architecture: 'ernie4_5', layers: 2 },
  { architecture: 'hunyuan-dense', layers: 2 },
  { architecture: 'gpt-oss', layers: 2 },
  { architecture: 'gemma4', layers: 6 },
  { architecture: 'mistral3', layers: 2 },
  { architecture: 'granitehybrid', layers: 3 },
];

/** Most likely tokens after each token of `input`, given in rows of up to `width`. */
async function favourites(
  backend: Backend,
  sequence: SequenceId,
  input: readonly number[],
  width: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < input.length; at += width) {
    const row = { sequence, input: input.slice(at, at + width), sample: 'each', isPrompt: false } as const;
    const { rows } = await backend.step([row]);
    found.push(...rows[0]!.tokens!.map(({ token }) => token));
  }
  return found;
}

backendContract(
  'webgpu, gemma4',
  () =>
    createWebGpuBackend({
      source: memorySource(
        makeSyntheticGguf({ ...SHAPES.small, architecture: 'gemma4', layers: 6, quantization: 'Q8_0' }),
      ),
      path: 'model.gguf',
      contextTokens: 128,
      maxBatch: 3,
    }),
  { promptTokens: Array.from({ length: 20 }, (_, index) => 3 + 7 * index), timeoutMs: 240_000, fillsContext: false },
);

describe('webgpu backend: architectures against llama.cpp', () => {
  for (const { architecture, layers } of MODELS)
    it(`step: ${architecture} has the favourites of llama.cpp, in rows, one by one, in a batch and after a restored prefix`, async () => {
      const gguf = makeSyntheticGguf({ ...SHAPES.small, architecture, layers, quantization: 'F32' });
      const reference = await createReferenceModel(gguf, { contextTokens: 128 });
      const { tokens, logits } = decisiveTokens(reference, POSITIONS, new SeededRandom(7));
      await using llama = await createLlamaCpp(new Blob([gguf]), { contextTokens: 128 });
      const theirs = await llama.logprobs(tokens, SHAPES.small.vocab);
      expect(agreement(logits, theirs).relativeError, 'log-probabilities of the reference').to.be.below(TOLERANCE);
      const best = theirs.map(([first]) => first!.id);

      const backend = (await createWebGpuBackend({
        source: memorySource(gguf),
        path: 'model.gguf',
        contextTokens: 128,
        maxBatch: 3,
      })) as Backend & { kv: BackendKv };
      try {
        const open = (): SequenceId => backend.openSequence(sequenceOptions());
        const rows = open();
        expect(await favourites(backend, rows, tokens, 16), 'rows of 16').to.deep.equal(best);
        const held = await backend.kv.hold(rows, 0, 3);
        backend.closeSequence(rows);

        const one = open();
        expect(await favourites(backend, one, tokens.slice(0, 40), 1), 'one by one').to.deep.equal(best.slice(0, 40));
        backend.closeSequence(one);

        const restored = open();
        await backend.kv.restore(restored, tokens.slice(0, 96), held, 96);
        expect(await favourites(backend, restored, tokens.slice(96), 2), 'restored').to.deep.equal(best.slice(96));
        backend.closeSequence(restored);

        // Three sequences of the same tokens at other places, in the same steps.
        const starts = [79, 50, 7];
        const batch = starts.map(open);
        for (const [index, sequence] of batch.entries())
          await backend.step([{ sequence, input: tokens.slice(0, starts[index]), sample: false, isPrompt: true }]);
        for (let step = 0; step < 20; step++) {
          const inputs = batch.map((sequence, index) => ({
            sequence,
            input: [tokens[starts[index]! + step]!],
            sample: true,
            isPrompt: false,
          }));
          const result = await backend.step(inputs);
          const expected = starts.map((start) => best[start + step]!);
          expect(
            result.rows.map(({ token }) => token),
            `batch, step ${step}`,
          ).to.deep.equal(expected);
        }
      } finally {
        await backend.dispose();
      }
    });
});
