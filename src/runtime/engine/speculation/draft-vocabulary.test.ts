import { expect } from 'chai';
import type { Tokenizer } from '../../text/tokenizer.ts';
import { byteTokenizer } from '../testing/byte-tokenizer.ts';
import { checkDraftVocabulary } from './draft-vocabulary.ts';

const like = (more: Partial<Tokenizer>): Tokenizer => ({
  ...byteTokenizer,
  encode: (text) => byteTokenizer.encode(text),
  tokenBytes: (id) => byteTokenizer.tokenBytes(id),
  isControl: (id) => byteTokenizer.isControl(id),
  vocabSize: byteTokenizer.vocabSize,
  ...more,
});

describe('checkDraftVocabulary', () => {
  it('checkDraftVocabulary: takes the same vocabulary, also a padded one', () => {
    checkDraftVocabulary(byteTokenizer, like({}));
    checkDraftVocabulary(like({ vocabSize: byteTokenizer.vocabSize - 4 }), byteTokenizer);
  });

  it('checkDraftVocabulary: refuses another one with the first id that differs, before it can draft nonsense', () => {
    const shifted = like({ tokenBytes: (id) => byteTokenizer.tokenBytes(id === 70 ? 71 : id) });
    for (const [draft, id] of [
      [shifted, 70],
      [like({ isControl: (id) => id === 90 || byteTokenizer.isControl(id) }), 90],
      [like({ vocabSize: 100 }), 100],
    ] as const)
      expect(() => checkDraftVocabulary(byteTokenizer, draft))
        .to.throw(/same vocabulary/)
        .that.includes({ code: 'model-unsupported' })
        .and.has.deep.property('details', { id });
  });
});
