import { createSHA256 } from 'hash-wasm';

/**
 * SHA-256 of a chunk of weights. Pages that are neither on https nor on localhost have no `crypto.subtle`; hash-wasm gives the same
 * digest there, so that what is stored under its name is found again.
 */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (subtle) return new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  return (await createSHA256()).update(bytes).digest('binary');
}

/** One name for all chunks of a model's weights: the digest of their digests, in hexadecimal. */
export async function digestOfDigests(digests: readonly Uint8Array[]): Promise<string> {
  const all = new Uint8Array(digests.length * 32);
  for (let i = 0; i < digests.length; i++) all.set(digests[i]!, i * 32);
  return Array.from(await sha256(all), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
