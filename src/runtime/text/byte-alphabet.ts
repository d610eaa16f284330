/** Characters that stand for the bytes 0 to 255 in a byte-level vocabulary (GPT-2): printable ones for themselves, the rest from U+0100. */
const BYTE_CHARS: readonly string[] = (() => {
  const isItself = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isItself(byte) ? byte : next++));
})();

const CHAR_BYTES: ReadonlyMap<number, number> = new Map(BYTE_CHARS.map((char, byte) => [char.charCodeAt(0), byte]));

const encoder = new TextEncoder();

/** The text of a word in the byte-level alphabet: one character for each byte of its UTF-8. */
export function toByteAlphabet(word: string): string {
  return bytesToAlphabet(encoder.encode(word));
}

/** Bytes in the byte-level alphabet: one character each. */
export function bytesToAlphabet(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += BYTE_CHARS[byte]!;
  return text;
}

/** The bytes that a token of a byte-level vocabulary stands for; undefined if a character is outside the alphabet. */
export function fromByteAlphabet(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = CHAR_BYTES.get(token.charCodeAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}
