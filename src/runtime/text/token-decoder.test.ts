import { expect } from 'chai';
import { createTokenDecoder } from './token-decoder.ts';
import { toWellFormed } from './well-formed.ts';

const encoder = new TextEncoder();
const TEXT = 'Naïve café 👩‍👩‍👧 안녕하세요 — e\u0301 \u{1F1F0}\u{1F1F7} 日本 ﷐\ufeff end';
const CONTROL = 999;

/** Token ids below 256 are bytes; others are pieces of more bytes. */
function byteTokens(pieces: readonly Uint8Array[] = [], stripsLeadingSpace = false) {
  return {
    stripsLeadingSpace,
    tokenBytes: (id: number) => {
      if (id === CONTROL) return new Uint8Array(0);
      return id < 256 ? Uint8Array.of(id) : pieces[id - 256]!;
    },
  };
}

function decode(
  tokens: Parameters<typeof createTokenDecoder>[0],
  ids: Iterable<number>,
  continuesText = false,
): string[] {
  const decoder = createTokenDecoder(tokens, { continuesText });
  return [...Array.from(ids, (id) => decoder.push(id)), decoder.flush()];
}

describe('createTokenDecoder', () => {
  it('createTokenDecoder: single-byte tokens of emoji, Korean and accents give no replacement character, and each character once it is whole', () => {
    const deltas = decode(byteTokens(), encoder.encode(TEXT));
    expect(deltas.join('')).to.equal(TEXT);
    for (const delta of deltas) {
      expect(delta).to.not.include('\ufffd');
      expect(Array.from(delta).length).to.be.lessThan(2);
      expect(toWellFormed(delta)).to.equal(delta);
    }
    expect(deltas.filter((delta) => delta !== '')).to.deep.equal(Array.from(TEXT));
  });

  it('createTokenDecoder: however the bytes are spread over tokens, deltas joined equal the text', () => {
    const bytes = encoder.encode(TEXT);
    for (let size = 1; size <= 7; size++) {
      const pieces: Uint8Array[] = [];
      for (let start = 0; start < bytes.length; start += size) pieces.push(bytes.subarray(start, start + size));
      const deltas = decode(
        byteTokens(pieces),
        pieces.map((_, index) => 256 + index),
      );
      expect(deltas.join('')).to.equal(TEXT);
    }
  });

  it('createTokenDecoder: a broken tail is flushed as one replacement character, and the decoder can be used again', () => {
    const decoder = createTokenDecoder(byteTokens());
    const [first, second, third] = encoder.encode('한');
    expect([decoder.push(0x61), decoder.push(first!), decoder.push(second!), decoder.flush()]).to.deep.equal([
      'a',
      '',
      '',
      '\ufffd',
    ]);
    expect([decoder.push(first!), decoder.push(second!), decoder.push(third!), decoder.flush()]).to.deep.equal([
      '',
      '',
      '한',
      '',
    ]);
  });

  it('createTokenDecoder: bytes that are no UTF-8 become what TextDecoder makes of all of them at once', () => {
    const bytes = Uint8Array.of(0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x98, 0x41, 0x80, 0xe2, 0x82);
    expect(decode(byteTokens(), bytes).join('')).to.equal(new TextDecoder().decode(bytes));
  });

  it('createTokenDecoder: control tokens give no text, in the middle of a character too', () => {
    const [first, second] = encoder.encode('é');
    expect(decode(byteTokens(), [CONTROL, first!, CONTROL, second!, CONTROL])).to.deep.equal(['', '', '', 'é', '', '']);
  });

  it('createTokenDecoder: one space at the very start is dropped where the tokenizer put it, and only there', () => {
    const spaced = encoder.encode('  a b');
    expect(decode(byteTokens([], true), [CONTROL, ...spaced]).join('')).to.equal(' a b');
    expect(decode(byteTokens([], false), spaced).join('')).to.equal('  a b');
    expect(decode(byteTokens([], true), spaced, true).join('')).to.equal('  a b');
    expect(decode(byteTokens([encoder.encode(' Hi')], true), [256, 256]).join('')).to.equal('Hi Hi');
  });
});
