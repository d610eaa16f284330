import { expect } from 'chai';
import { createLlamaCpp } from '../models/testing/llama-cpp.ts';
import { createGgufTokenizer } from './gguf-tokenizer.ts';
import { createRandomTexts } from './testing/random-texts.ts';
import { loadGpt2, loadLlama2 } from './testing/real-vocabularies.ts';
import { toByteLevelMetadata, toSentencePieceMetadata, type MetadataValue } from './testing/vocabularies.ts';
import { makeVocabularyModel } from './testing/vocabulary-model.ts';

const TEXTS = 1000;
const SEED = 20_261;

/** Compares with llama.cpp on the same file: ids with and without control tokens, end tokens, BOS, and the bytes of each token. */
async function compare(metadata: ReadonlyMap<string, MetadataValue>) {
  const ours = createGgufTokenizer(metadata);
  const theirs = await createLlamaCpp(makeVocabularyModel(metadata));
  try {
    expect(ours.vocabSize).to.equal(theirs.info.vocabSize);
    expect(ours.endIds).to.deep.equal([...theirs.info.endIds].sort((a, b) => a - b));
    expect(ours.addBos).to.equal(theirs.info.addBos);
    expect(ours.bosId).to.equal(theirs.info.bosId);
    for (const text of createRandomTexts(TEXTS, SEED, ours.controlTexts ?? [])) {
      expect(ours.encode(text, true), JSON.stringify(text)).to.deep.equal(await theirs.tokenize(text, true));
      expect(ours.encode(text), JSON.stringify(text)).to.deep.equal(await theirs.tokenize(text, false));
    }
    for (let id = 0; id < ours.vocabSize; id += id < 300 ? 1 : 37) {
      if (ours.isControl(id)) continue;
      const bytes = await theirs.detokenize([id]);
      expect([...ours.tokenBytes(id)], `token ${id}`).to.deep.equal([...bytes]);
    }
  } finally {
    await theirs.dispose();
  }
}

describe('createGgufTokenizer against llama.cpp', () => {
  for (const pre of ['gpt-2', 'default', 'smollm', 'qwen2', 'llama-bpe']) {
    it(`createGgufTokenizer: ${TEXTS} texts give the ids of llama.cpp with the vocabulary of GPT-2 and pre-tokenizer ${pre}`, async () => {
      const special = { bos_token_id: 50256, eos_token_id: 50258 };
      await compare(toByteLevelMetadata(await loadGpt2(), pre, special));
    });
  }

  for (const add_space_prefix of [true, false]) {
    it(`createGgufTokenizer: ${TEXTS} texts give the ids of llama.cpp with the vocabulary of Llama 2, add_space_prefix ${add_space_prefix}`, async () => {
      const special = { bos_token_id: 1, eos_token_id: 2, add_space_prefix };
      await compare(toSentencePieceMetadata(await loadLlama2(), special));
    });
  }
});
