/** 32 hexadecimal digits that nobody else has. `crypto.randomUUID` is for secure contexts only. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
