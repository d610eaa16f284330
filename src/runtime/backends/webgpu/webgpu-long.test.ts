import { expect } from 'chai';
import { agreement } from '../../models/testing/agreement.ts';
import { createLlamaCpp } from '../../models/testing/llama-cpp.ts';
import { createReferenceModel } from '../../models/testing/reference-model.ts';
import { SHAPES, makeSyntheticGguf, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import { sequenceOptions } from '../testing/run-tokens.ts';
import { createWebGpuBackend } from './create-webgpu-backend.ts';
import { memorySource } from '../../models/testing/memory-source.ts';

const TOKENS = 2000;
const CHUNK = 256;
/** Of log-probabilities, against the reference: KV in f16, and sums in another order. */
const TOLERANCE = 0.03;
/** Of the reference's logits against llama.cpp, which keeps the state of a delta net in f32 where the reference has f64. */
const REFERENCE_TOLERANCE = 0.02;

const MODELS: readonly Pick<SyntheticModel, 'architecture' | 'layers'>[] = [
  { architecture: 'lfm2', layers: 3 },
  { architecture: 'qwen35', layers: 4 },
  { architecture: 'gemma4', layers: 6 },
];

describe('webgpu backend: long sequences against llama.cpp', () => {
  for (const { architecture, layers } of MODELS)
    it(`step: ${architecture} has the log-probabilities of the reference, which agrees with llama.cpp, in chunks of ${TOKENS} tokens and after them`, async () => {
      const gguf = makeSyntheticGguf({ ...SHAPES.small, architecture, layers, quantization: 'F32', context: 2048 });
      const tokens = Array.from({ length: TOKENS }, (_, index) => (index * index * 7 + index * 37 + 11) % 300);
      await using llama = await createLlamaCpp(new Blob([gguf]), { contextTokens: 2048 });
      const reference = await createReferenceModel(gguf, { contextTokens: 2048 });
      const logits = reference.forward(tokens);
      const { relativeError } = agreement(logits, await llama.logprobs(tokens, SHAPES.small.vocab));
      expect(relativeError, 'reference and llama.cpp').to.be.below(REFERENCE_TOLERANCE);
      const backend = await createWebGpuBackend({
        source: memorySource(gguf),
        path: 'model.gguf',
        contextTokens: 2048,
        maxBatch: 1,
      });
      try {
        const sequence = backend.openSequence(sequenceOptions({}, 5));
        for (let at = 0; at < TOKENS;) {
          // The last tokens come one by one.
          const count = at >= TOKENS - 8 ? 1 : Math.min(CHUNK, TOKENS - 8 - at);
          const { rows } = await backend.step([
            { sequence, input: tokens.slice(at, at + count), sample: true, isPrompt: true },
          ]);
          at += count;
          const truth = logSoftmax(logits[at - 1]!);
          for (const { id, logprob } of rows[0]!.topLogprobs!)
            expect(logprob, `token ${id} after ${at}`).to.be.closeTo(truth[id]!, TOLERANCE);
        }
      } finally {
        await backend.dispose();
      }
    });
});

function logSoftmax(logits: Float32Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b));
  const shift = most + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - most), 0));
  return Float64Array.from(logits, (value) => value - shift);
}
