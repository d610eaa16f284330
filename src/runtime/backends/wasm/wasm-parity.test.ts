import { expect } from 'chai';
import type { TokenLogprob } from '../../../shared/generation.ts';
import { memorySource } from '../../models/testing/memory-source.ts';
import { createReferenceModel } from '../../models/testing/reference-model.ts';
import { ARCHITECTURE_CASES, syntheticName, TYPE_AND_VARIANT_CASES } from '../../models/testing/synthetic-cases.ts';
import { makeSyntheticGguf, SHAPES, type SyntheticModel } from '../../models/testing/synthetic-model.ts';
import { sequenceOptions } from '../testing/run-tokens.ts';
import { createWasmBackend, type WasmBackendOptions } from './create-wasm-backend.ts';

const PROMPT = 17;
const TOKENS = 32;
/** Over so few positions one rounding may do more harm than the other by chance. */
const MOST_RATIO = 1.5;
/** Sums in another order, and scales of K-quants in f16. */
const FLOOR = 2e-3;

const RUN: readonly string[] = ['llama', 'qwen2', 'qwen3', 'gemma3', 'phi3', 'granite', 'smollm3'];
/** Logits that are scaled, and layers without rotation. */
const MORE_CASES: readonly SyntheticModel[] = (['granite', 'smollm3'] as const).map((architecture) => ({
  ...SHAPES.tiny,
  architecture,
  layers: 4,
  quantization: 'Q4_0',
}));

const isRun = ({ architecture, headDim = 8 }: SyntheticModel): boolean =>
  RUN.includes(architecture) && headDim % 8 === 0;

/** Likeliest tokens after each token, in a chunk and then one by one. */
async function likeliest(
  gguf: Uint8Array<ArrayBuffer>,
  tokens: readonly number[],
  options: Partial<WasmBackendOptions>,
): Promise<(readonly TokenLogprob[])[]> {
  const backend = await createWasmBackend({
    source: memorySource(gguf),
    path: 'model.gguf',
    contextTokens: 128,
    ...options,
  });
  const sequence = backend.openSequence(sequenceOptions({}, 20));
  const found: (readonly TokenLogprob[])[] = [];
  for (let at = 0; at < tokens.length; at = at === 0 ? PROMPT : at + 1) {
    const input = tokens.slice(at, at === 0 ? PROMPT : at + 1);
    const { rows } = await backend.step([{ sequence, input, sample: true, isPrompt: at === 0 }]);
    found.push(rows[0]!.topLogprobs!);
  }
  await backend.dispose();
  return found;
}

function logSoftmax(logits: Float32Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, value) => total + Math.exp(value - most), 0);
  return Float64Array.from(logits, (value) => value - most - Math.log(sum));
}

/** Root of the mean squared error of log-probabilities, of this engine and of llama.cpp's rounding. */
async function errorsOf(model: SyntheticModel, options: Partial<WasmBackendOptions>) {
  const gguf = makeSyntheticGguf(model);
  const tokens = Array.from({ length: TOKENS }, (_, index) => (index * 37 + 11) % model.vocab);
  const context = { contextTokens: 128 };
  const exact = (await createReferenceModel(gguf, context)).forward(tokens).map(logSoftmax);
  const rounded = (await createReferenceModel(gguf, { ...context, roundLikeLlamaCpp: true }))
    .forward(tokens)
    .map(logSoftmax);
  let [ours, theirs, count] = [0, 0, 0];
  for (const [index, entries] of (await likeliest(gguf, tokens, options)).entries()) {
    const position = PROMPT - 1 + index;
    for (const { id, logprob } of entries) {
      ours += (logprob - exact[position]![id]!) ** 2;
      theirs += (rounded[position]![id]! - exact[position]![id]!) ** 2;
      count += 1;
    }
  }
  return { ours: Math.sqrt(ours / count), theirs: Math.sqrt(theirs / count) };
}

describe('wasm backend: against the f32 reference', function () {
  this.timeout(120_000);
  for (const simd of ['relaxed', 'plain'] as const)
    for (const model of [...TYPE_AND_VARIANT_CASES, ...ARCHITECTURE_CASES, ...MORE_CASES].filter(isRun))
      it(`step: ${simd} SIMD errs no more than llama.cpp's rounding of activations on ${syntheticName(model)}`, async () => {
        const { ours, theirs } = await errorsOf(model, { simd });
        expect(ours).to.be.below(MOST_RATIO * theirs + FLOOR);
      });

  it('createWasmBackend: blocks and widths that it does not run are refused by name, before weights are read', async () => {
    for (const model of ARCHITECTURE_CASES.filter((other) => !isRun(other))) {
      const error: unknown = await likeliest(makeSyntheticGguf(model), [1], {}).catch((caught: unknown) => caught);
      expect(error, syntheticName(model)).to.have.property('code', 'model-unsupported');
      expect((error as Error).message).to.match(/engine wasm/);
    }
  });
});
