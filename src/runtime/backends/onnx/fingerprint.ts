/** External data is sampled at this step: hashing gigabytes would hold up each load. */
const SAMPLE_EVERY_BYTES = 1 << 24;
const SAMPLE_BYTES = 1 << 16;

/** A file that is named by samples of its content. */
export interface SampledFile {
  path: string;
  data: Blob;
  etag?: string | undefined;
}

/**
 * A stable name of exactly these weights: SHA-256 over the configuration, the whole model file, and of each external data file its
 * path, length, ETag, and 64 KiB of every 16 MiB. (Two files that differ only between the samples, with the same length and no ETag, would get the
 * same name.) Insecure pages have no SHA-256; there the name is a 64-bit FNV-1a hash of the same bytes.
 */
export async function fingerprintOf(
  config: unknown,
  model: Uint8Array<ArrayBuffer>,
  files: readonly SampledFile[],
): Promise<string> {
  const utf8 = new TextEncoder();
  const parts: Uint8Array<ArrayBuffer>[] = [utf8.encode(JSON.stringify(config)), model];
  for (const { path, data, etag } of files) {
    parts.push(utf8.encode(JSON.stringify([path, data.size, etag ?? ''])));
    for (let at = 0; at < data.size; at += SAMPLE_EVERY_BYTES)
      parts.push(new Uint8Array(await data.slice(at, at + SAMPLE_BYTES).arrayBuffer()));
    parts.push(new Uint8Array(await data.slice(-SAMPLE_BYTES).arrayBuffer()));
  }
  // Digests of parts, hashed again: the model is not copied, and where a part ends counts.
  const digests: string[] = [];
  for (const part of parts) digests.push(await digest(part));
  return digest(utf8.encode(digests.join(' ')));
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (!subtle) return `fnv1a:${fnv1a(bytes, 0x811c9dc5)}${fnv1a(bytes, 0xcbf29ce4)}`;
  const hash = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** 32-bit FNV-1a from the given offset basis, in hex. */
function fnv1a(bytes: Uint8Array, basis: number): string {
  let hash = basis;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}
