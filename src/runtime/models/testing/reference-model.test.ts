import { expect } from 'chai';
import { agreement } from './agreement.ts';
import { decisiveTokens } from './decisive-tokens.ts';
import { createLlamaCpp } from './llama-cpp.ts';
import { SeededRandom } from './random.ts';
import { createReferenceModel } from './reference-model.ts';
import { SYNTHETIC_CASES, syntheticName } from './synthetic-cases.ts';
import { makeSyntheticGguf, SHAPES } from './synthetic-model.ts';

const POSITIONS = 64;
const context = { contextTokens: 128 };

/** llama.cpp rounds activations to 8 bits where weights are quantised; seven layers of Gemma add up to 3 %. */
const PLAIN_TOLERANCE = 0.04;

/**
 * With the same rounding, only sums in another order are left. Now and then they tip a rounding over, so the best position counts: a
 * wrong value of a weight would show in all of them. Q4_1 and Q5_1 also keep a half-precision sum that the rounding leaves out.
 */
const ROUNDED_TOLERANCE = 1e-5;
const ROUNDED_TOLERANCE_WITH_SUMS = 0.01;

describe('createReferenceModel', () => {
  for (const model of SYNTHETIC_CASES) {
    it(`createReferenceModel: agrees with llama.cpp on ${syntheticName(model)}`, async () => {
      const gguf = makeSyntheticGguf(model);
      const reference = await createReferenceModel(gguf, context);
      const { tokens, logits } = decisiveTokens(reference, POSITIONS, new SeededRandom(7));
      await using llama = await createLlamaCpp(new Blob([gguf]), context);
      const theirs = await llama.logprobs(tokens, 1000);

      const plain = agreement(logits, theirs);
      expect(plain.top1).to.be.at.least(0.98);
      expect(plain.relativeError).to.be.below(model.quantization === 'F32' ? 1e-3 : PLAIN_TOLERANCE);
      const rounding = await createReferenceModel(gguf, { ...context, roundLikeLlamaCpp: true });
      const rounded = agreement(rounding.forward(tokens), theirs);
      const keepsSums = model.quantization === 'Q4_1' || model.quantization === 'Q5_1';
      expect(rounded.leastRelativeError).to.be.below(keepsSums ? ROUNDED_TOLERANCE_WITH_SUMS : ROUNDED_TOLERANCE);
    });
  }

  it('createReferenceModel: greedy continues as llama.cpp does, and truncate goes back', async () => {
    const gguf = makeSyntheticGguf({ ...SHAPES.tiny, architecture: 'llama', quantization: 'F32' });
    const reference = await createReferenceModel(gguf);
    await using llama = await createLlamaCpp(new Blob([gguf]));
    const prompt = [5, 300, 41];
    const greedy = reference.greedy(prompt, 24);
    expect(greedy).to.deep.equal(await llama.greedy(prompt, 24));
    reference.truncate(prompt.length);
    expect(reference.length).to.equal(prompt.length);
    expect(reference.greedy([greedy[0]!], 23)).to.deep.equal(greedy.slice(1));
  });

  it('createReferenceModel: agrees with llama.cpp on an answer of the tutor, in less than 100 ms a token', async () => {
    const response = await fetch(new URL('../../../../models/tutor/tutor.q4_0.gguf', import.meta.url));
    const gguf = new Uint8Array(await response.arrayBuffer());
    await using llama = await createLlamaCpp(new Blob([gguf]));
    const prompt = await llama.tokenize(await llama.formatChat([{ role: 'user', content: 'Why is decoding memory-bound?' }]));
    const tokens = [...prompt, ...(await llama.greedy(prompt, 64 - prompt.length))];
    const theirs = await llama.logprobs(tokens, 1000);
    const plain = await createReferenceModel(gguf);
    const before = performance.now();
    const logits = plain.forward(tokens);
    expect((performance.now() - before) / tokens.length).to.be.below(100);
    const { top1, relativeError } = agreement(logits, theirs);
    expect(top1).to.be.at.least(0.98);
    expect(relativeError).to.be.below(0.02);
    const rounding = await createReferenceModel(gguf, { roundLikeLlamaCpp: true });
    expect(agreement(rounding.forward(tokens), theirs).leastRelativeError).to.be.below(ROUNDED_TOLERANCE);
  });

  it('createReferenceModel: refuses tokens outside the vocabulary', async () => {
    const reference = await createReferenceModel(
      makeSyntheticGguf({ ...SHAPES.odd, architecture: 'qwen3', quantization: 'Q8_0' }),
    );
    expect(() => reference.forward([SHAPES.odd.vocab])).to.throw(RangeError, /vocabulary/);
  });
});
