import { expect } from 'chai';
import { isTokenglassError } from '../../shared/errors.ts';
import { createGgufTokenizer } from './gguf-tokenizer.ts';
import { BOS, END, START, makeByteLevelMetadata, makeSentencePieceMetadata } from './testing/small-tokenizers.ts';
import type { Tokenizer } from './tokenizer.ts';

const textOf = (tokenizer: Tokenizer, ids: readonly number[]) =>
  new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => [...tokenizer.tokenBytes(id)])));

function codeOf(call: () => unknown): { code: string; message: string } {
  try {
    call();
  } catch (error) {
    if (isTokenglassError(error)) return error;
    throw error;
  }
  throw new Error('did not throw');
}

describe('createGgufTokenizer, byte-level', () => {
  const tokenizer = createGgufTokenizer(makeByteLevelMetadata());

  it('createGgufTokenizer: special ids, control tokens and vocabulary size are those of the file', () => {
    expect(tokenizer).to.include({ bosId: BOS, addBos: true, vocabSize: 266, stripsLeadingSpace: false });
    expect(tokenizer.endIds).to.deep.equal([END]);
    expect([BOS, START, END, 3].map((id) => tokenizer.isControl(id))).to.deep.equal([true, true, true, false]);
    expect(tokenizer.tokenBytes(START)).to.have.length(0);
    expect(tokenizer.tokenBytes(99_999)).to.have.length(0);
  });

  it('createGgufTokenizer: merges by rank and gives every byte back', () => {
    expect(tokenizer.encode('hello hello')).to.deep.equal([262, 263]);
    const hard = 'hell\u0000 é 한국 😀 \u00ad\r\n\t ÿ';
    expect(textOf(tokenizer, tokenizer.encode(hard))).to.equal(hard);
    for (let byte = 0; byte < 256; byte++) expect([...tokenizer.tokenBytes(3 + byte)]).to.deep.equal([byte]);
  });

  it('createGgufTokenizer: control tokens are ids where asked for, longest first, and plain text where not', () => {
    expect(tokenizer.encode('<|im_start|>hello<|im_end|>', true)).to.deep.equal([START, 262, END]);
    const plain = tokenizer.encode('<|im_start|>hello<s>');
    expect(plain.some((id) => tokenizer.isControl(id))).to.equal(false);
    expect(textOf(tokenizer, plain)).to.equal('<|im_start|>hello<s>');
  });

  it('createGgufTokenizer: a guard keeps a control token plain text and is left out', () => {
    const ids = tokenizer.encodeGuarded!('<|im_start|><\ufdd0|im_start|>x', '\ufdd0');
    expect(ids[0]).to.equal(START);
    expect(ids.slice(1)).to.deep.equal(tokenizer.encode('<|im_start|>x'));
  });

  it('createGgufTokenizer: lone surrogates become U+FFFD', () => {
    expect(textOf(tokenizer, tokenizer.encode('a\ud83dx\ude00'))).to.equal('a\ufffdx\ufffd');
  });

  it('createGgufTokenizer: a word that is a token is not merged by a llama-bpe file', () => {
    // "ll" then "hell" would be merged first; without the merge "hell o" only the whole word is a token.
    const merges = ['h e', 'l l', 'he ll', 'Ġ hello', '< |', '| >'];
    const encode = (pre: string) =>
      createGgufTokenizer(makeByteLevelMetadata({ 'tokenizer.ggml.pre': pre, 'tokenizer.ggml.merges': merges })).encode(
        'hello',
      );
    expect(encode('gpt-2')).to.have.length(2);
    expect(encode('llama-bpe')).to.deep.equal([262]);
  });

  it('createGgufTokenizer: a turn end is found by its name, and is a control token whatever its type', () => {
    const plain = createGgufTokenizer(
      makeByteLevelMetadata({
        'tokenizer.ggml.eos_token_id': BOS,
        'tokenizer.ggml.token_type': new Int32Array(266).fill(1),
      }),
    );
    expect(plain.endIds).to.deep.equal([BOS, END]);
    expect(plain.isControl(END)).to.equal(true);
    expect(plain.encode('<|im_end|>')).to.not.include(END);
  });

  it('createGgufTokenizer: special ids outside the vocabulary count as absent', () => {
    const tokenizer = createGgufTokenizer(
      makeByteLevelMetadata({ 'tokenizer.ggml.add_bos_token': false, 'tokenizer.ggml.bos_token_id': 5000 }),
    );
    expect(tokenizer.bosId).to.equal(undefined);
  });
});

describe('createGgufTokenizer, SentencePiece', () => {
  const tokenizer = createGgufTokenizer(makeSentencePieceMetadata());
  const piece = (text: string) => {
    const metadata = makeSentencePieceMetadata();
    return (metadata.get('tokenizer.ggml.tokens') as string[]).indexOf(text);
  };

  it('createGgufTokenizer: adds the space in front, merges by score, and falls back to bytes', () => {
    expect(tokenizer.encode('hello hello')).to.deep.equal([piece('▁hello'), piece('▁hello')]);
    expect(tokenizer.encode('é')).to.deep.equal([piece('▁'), piece('<0xC3>'), piece('<0xA9>')]);
    expect(tokenizer.stripsLeadingSpace).to.equal(true);
    expect(textOf(tokenizer, tokenizer.encode('hello 😀 é'))).to.equal(' hello 😀 é');
  });

  it('createGgufTokenizer: the space in front comes after each control token too, or never', () => {
    expect(tokenizer.encode('<|im_end|>hello', true)).to.deep.equal([END, piece('▁hello')]);
    const without = createGgufTokenizer(makeSentencePieceMetadata({ 'tokenizer.ggml.add_space_prefix': false }));
    expect(without.encode('<|im_end|>hello', true)).to.deep.equal([END, piece('hello')]);
    expect(without.stripsLeadingSpace).to.equal(false);
  });

  it('createGgufTokenizer: pieces never merge into a control token, and a typed byte token stays text', () => {
    expect(tokenizer.encode('<s>')).to.not.include(BOS);
    expect(textOf(tokenizer, tokenizer.encode('<s> <unk> <0x41>'))).to.equal(' <s> <unk> <0x41>');
  });

  it('createGgufTokenizer: adds a BOS unless the file says not', () => {
    expect(tokenizer.addBos).to.equal(true);
    expect(createGgufTokenizer(makeSentencePieceMetadata({ 'tokenizer.ggml.add_bos_token': false })).addBos).to.equal(
      false,
    );
  });

  it('createGgufTokenizer: control tokens of Phi-3 swallow the white space after them', () => {
    const phi = createGgufTokenizer(makeSentencePieceMetadata({ 'general.name': 'Phi 3 mini (phi-3)' }));
    expect(phi.encode('<|im_end|>\n <s> ', true)).to.deep.equal([END, BOS, piece('▁'), piece('▁')]);
  });
});

describe('createGgufTokenizer, files that do not fit', () => {
  it('createGgufTokenizer: unknown kinds are model-unsupported and named', () => {
    const { code, message } = codeOf(() =>
      createGgufTokenizer(makeByteLevelMetadata({ 'tokenizer.ggml.model': 'rwkv' })),
    );
    expect(code).to.equal('model-unsupported');
    expect(message).to.include('rwkv');
    expect(codeOf(() => createGgufTokenizer(makeByteLevelMetadata({ 'tokenizer.ggml.pre': 'nope' }))).code).to.equal(
      'model-unsupported',
    );
  });

  it('createGgufTokenizer: missing or contradicting metadata is model-invalid and named', () => {
    const broken: Record<string, Parameters<typeof makeByteLevelMetadata>[0]> = {
      'tokenizer.ggml.model': { 'tokenizer.ggml.model': undefined },
      'tokenizer.ggml.tokens': { 'tokenizer.ggml.tokens': undefined },
      'tokenizer.ggml.merges': { 'tokenizer.ggml.merges': 'h e' },
      'tokenizer.ggml.token_type': { 'tokenizer.ggml.token_type': new Int32Array(3) },
      'tokenizer.ggml.bos_token_id': { 'tokenizer.ggml.bos_token_id': undefined },
    };
    for (const [key, changes] of Object.entries(broken)) {
      const { code, message } = codeOf(() => createGgufTokenizer(makeByteLevelMetadata(changes)));
      expect(code, key).to.equal('model-invalid');
      expect(message).to.include(key);
    }
  });

  it('createGgufTokenizer: per-token arrays of 64-bit integers or strings, and ids that are no integers, are model-invalid', () => {
    const broken: [key: string, value: unknown][] = [
      ['tokenizer.ggml.token_type', new BigUint64Array(300).fill(1n)],
      ['tokenizer.ggml.token_type', new BigInt64Array(300).fill(1n)],
      ['tokenizer.ggml.token_type', new Array(300).fill('1')],
      ['tokenizer.ggml.scores', new BigUint64Array(300).fill(1n)],
      ['tokenizer.ggml.scores', new Array(300).fill('1')],
      ['tokenizer.ggml.bos_token_id', 0.5],
      ['tokenizer.ggml.eos_token_id', Number.NaN],
      ['tokenizer.ggml.eot_token_id', '2'],
    ];
    const good = makeSentencePieceMetadata();
    for (const [key, value] of broken) {
      const metadata = { get: (name: string): unknown => (name === key ? value : good.get(name)) };
      const { code, message } = codeOf(() => createGgufTokenizer(metadata));
      expect(code, key).to.equal('model-invalid');
      expect(message).to.include(key);
    }
  });
});
