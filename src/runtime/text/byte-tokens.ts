/** The text of a byte token, `<0x0A>`. */
export function byteTokenText(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/** The byte of a token such as `<0x0A>`; undefined for any other text. */
export function parseByteToken(text: string): number | undefined {
  const match = /^<0x([0-9A-Fa-f]{2})>$/.exec(text);
  return match === null ? undefined : Number.parseInt(match[1]!, 16);
}
