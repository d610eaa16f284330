/** One name for all chunks of a model's weights: the digest of their digests, in hexadecimal. */
export async function digestOfDigests(digests: readonly Uint8Array[]): Promise<string> {
  const all = new Uint8Array(digests.length * 32);
  for (let i = 0; i < digests.length; i++) all.set(digests[i]!, i * 32);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
