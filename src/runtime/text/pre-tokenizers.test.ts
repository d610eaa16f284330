import { expect } from 'chai';
import { isTokenglassError } from '../../shared/errors.ts';
import { findPreTokenizer, splitWords } from './pre-tokenizers.ts';
import { createRandomTexts } from './testing/random-texts.ts';

const split = (name: string, text: string) => splitWords(text, findPreTokenizer(name).patterns);

describe('findPreTokenizer', () => {
  it('findPreTokenizer: an unknown one is named in a model-unsupported error', () => {
    try {
      findPreTokenizer('glyph-9');
      expect.fail('did not throw');
    } catch (error) {
      expect(isTokenglassError(error, 'model-unsupported')).to.equal(true);
      expect((error as Error).message).to.include('"glyph-9"');
    }
  });

  it('findPreTokenizer: only the Llama 3 and Mistral families take whole words as they are and add a BOS unasked', () => {
    const flags = ['default', 'gpt-2', 'smollm', 'qwen2', 'llama-bpe', 'tekken'].map((name) => {
      const { ignoreMerges, addBos } = findPreTokenizer(name);
      return [ignoreMerges, addBos];
    });
    expect(flags).to.deep.equal([
      [false, false],
      [false, false],
      [false, false],
      [false, false],
      [true, true],
      [true, true],
    ]);
  });
});

describe('splitWords', () => {
  it('splitWords: words of gpt-2, qwen2 and llama-bpe differ in digits, line ends and contractions', () => {
    const text = "I'LL it's 12345 ok!!\n\n  x";
    expect(split('gpt-2', text)).to.deep.equal(['I', "'", 'LL', ' it', "'s", ' 12345', ' ok', '!!', '\n\n ', ' x']);
    expect(split('qwen2', text)).to.deep.equal([
      'I',
      "'LL",
      ' it',
      "'s",
      ' ',
      '1',
      '2',
      '3',
      '4',
      '5',
      ' ok',
      '!!\n\n',
      ' ',
      ' x',
    ]);
    expect(split('llama-bpe', text)).to.deep.equal([
      'I',
      "'LL",
      ' it',
      "'s",
      ' ',
      '123',
      '45',
      ' ok',
      '!!\n\n',
      ' ',
      ' x',
    ]);
    expect(split('smollm', '7x 12')).to.deep.equal(['7', 'x', ' ', '1', '2']);
    expect(split('default', 'a==b 1234')).to.deep.equal(['a', '==', 'b', ' ', '123', '4']);
  });

  it('splitWords: white space is what Unicode says, not what \\s says', () => {
    expect(split('gpt-2', 'a\u0085\u0085b')).to.deep.equal(['a', '\u0085', '\u0085', 'b']);
    expect(split('gpt-2', 'a\ufeff\ufeffb')).to.deep.equal(['a', '\ufeff\ufeff', 'b']);
  });

  it('splitWords: words joined are the text, for every family', () => {
    const names = [
      'default',
      'gpt-2',
      'smollm',
      'falcon',
      'llama-bpe',
      'dbrx',
      'qwen2',
      'qwen35',
      'tekken',
      'gpt-4o',
      'deepseek-v3',
    ];
    for (const text of createRandomTexts(200, 1, [])) {
      for (const name of names) expect(split(name, text).join('')).to.equal(text);
    }
  });
});
