import { expect } from 'chai';
import { agreement } from './agreement.ts';
import { createLlamaCpp } from './llama-cpp.ts';
import { createReferenceModel } from './reference-model.ts';
import { expectReferenceAgreesWithLlamaCpp } from './reference-agreement.ts';
import { syntheticName, TYPE_AND_VARIANT_CASES } from './synthetic-cases.ts';
import { makeSyntheticGguf, SHAPES } from './synthetic-model.ts';

describe('createReferenceModel', () => {
  for (const model of TYPE_AND_VARIANT_CASES) {
    it(`createReferenceModel: agrees with llama.cpp on ${syntheticName(model)}`, () =>
      expectReferenceAgreesWithLlamaCpp(model));
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
    expect(agreement(rounding.forward(tokens), theirs).leastRelativeError).to.be.below(3e-3);
  });

  it('createReferenceModel: refuses tokens outside the vocabulary', async () => {
    const reference = await createReferenceModel(
      makeSyntheticGguf({ ...SHAPES.odd, architecture: 'qwen3', quantization: 'Q8_0' }),
    );
    expect(() => reference.forward([SHAPES.odd.vocab])).to.throw(RangeError, /vocabulary/);
  });
});
