import { expect } from 'chai';
import { agreement } from './agreement.ts';
import { decisiveTokens } from './decisive-tokens.ts';
import { createLlamaCpp } from './llama-cpp.ts';
import { SeededRandom } from './random.ts';
import { createReferenceModel } from './reference-model.ts';
import { makeSyntheticGguf, type SyntheticModel } from './synthetic-model.ts';

/** At most one may have another favourite. */
const POSITIONS = 50;
/** Positions that are compared with the same rounding. */
const ROUNDED_POSITIONS = 12;
const context = { contextTokens: 128 };

/** llama.cpp rounds activations to 8 bits where weights are quantised; seven layers of Gemma add up to 3 %. */
const PLAIN_TOLERANCE = 0.05;

/**
 * With the same rounding, only sums in another order are left. Now and then they tip a rounding over, which the positions after it feel, so
 * the best position counts (1e-7 in most cases): a wrong value of a weight would show in all of them. Q4_1
 * and Q5_1 also keep a half-precision sum that the rounding leaves out.
 */
const ROUNDED_TOLERANCE = 3e-3;
const ROUNDED_TOLERANCE_WITH_SUMS = 0.02;

/** Fails unless the reference model and llama.cpp agree on the synthetic model. */
export async function expectReferenceAgreesWithLlamaCpp(model: SyntheticModel): Promise<void> {
  const gguf = makeSyntheticGguf(model);
  const reference = await createReferenceModel(gguf, context);
  const { tokens, logits } = decisiveTokens(reference, POSITIONS, new SeededRandom(7));
  await using llama = await createLlamaCpp(new Blob([gguf]), context);
  const theirs = await llama.logprobs(tokens, 1000);

  const plain = agreement(logits, theirs);
  expect(plain.top1).to.be.at.least(0.98);
  expect(plain.relativeError).to.be.below(model.quantization === 'F32' ? 1e-3 : PLAIN_TOLERANCE);
  const rounding = await createReferenceModel(gguf, { ...context, roundLikeLlamaCpp: true });
  const rounded = agreement(rounding.forward(tokens.slice(0, ROUNDED_POSITIONS)), theirs);
  const keepsSums = model.quantization === 'Q4_1' || model.quantization === 'Q5_1';
  expect(rounded.leastRelativeError).to.be.below(keepsSums ? ROUNDED_TOLERANCE_WITH_SUMS : ROUNDED_TOLERANCE);
}
