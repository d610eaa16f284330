import type { Tokenizer } from './tokenizer.ts';

/** Token ids to text, one after the other; never gives a torn character. */
export interface TokenDecoder {
  /** Text that this token completes; empty while a character is incomplete, and for control tokens. */
  push(id: number): string;
  /** What is left at the end; bytes that form no character become U+FFFD. The decoder is as new afterwards. */
  flush(): string;
}

export interface TokenDecoderOptions {
  /**
   * The tokens go on in the middle of a text (of a raw prompt), so that a space at their start is meant, also where the tokenizer
   * drops the one at the start of a text. @default false
   */
  continuesText?: boolean;
}

const SPACE = 0x20;

/**
 * Decodes the tokens of one answer. The deltas joined are the decoding of all the bytes at once: characters whose bytes are spread over
 * tokens come out whole with the last of these, bytes that are no UTF-8 become U+FFFD where `TextDecoder` puts them.
 */
export function createTokenDecoder(
  tokenizer: Pick<Tokenizer, 'tokenBytes' | 'stripsLeadingSpace'>,
  { continuesText = false }: TokenDecoderOptions = {},
): TokenDecoder {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const stripsSpace = tokenizer.stripsLeadingSpace && !continuesText;
  let atStart = stripsSpace;
  return {
    push(id) {
      let bytes = tokenizer.tokenBytes(id);
      if (bytes.length === 0) return '';
      if (atStart && bytes[0] === SPACE) bytes = bytes.subarray(1);
      atStart = false;
      return utf8.decode(bytes, { stream: true });
    },
    flush() {
      atStart = stripsSpace;
      return utf8.decode();
    },
  };
}
