import { createSHA256, createXXHash64, type IHasher } from 'hash-wasm';

/** A digest of bytes that come in pieces. */
export interface RunningDigest {
  update(bytes: Uint8Array): void;
  /** Lower-case hexadecimal digits; the digest is used up. */
  finish(): string;
}

/** SHA-256, which hosts give: it says that the file is the one that was published. */
export async function createSha256(): Promise<RunningDigest> {
  const hasher = await createSHA256();
  hasher.init();
  return {
    update: (bytes) => void hasher.update(bytes),
    finish: () => hasher.digest('hex'),
  };
}

let checksum: Promise<IHasher> | undefined;

/**
 * xxHash64 of a stored chunk: it says that the disk gave back what was written, at many times the speed of SHA-256. It need not hold
 * against an attacker: who can write to this origin's storage can replace the checksum too.
 */
export async function checksumOf(bytes: Uint8Array): Promise<string> {
  checksum ??= createXXHash64();
  const hasher = await checksum;
  // No await between these: the hasher is shared.
  return hasher.init().update(bytes).digest('hex');
}
