import { TokenglassError } from '../../../shared/errors.ts';
import type { StoredVersion } from './rows.ts';
import type { WeightDatabase } from './weight-database.ts';

export interface ReadChunksOptions {
  database: WeightDatabase;
  version: StoredVersion;
  /** First byte wanted. @default 0 */
  start?: number;
  /** End of what is wanted, exclusive. @default all that is stored */
  end?: number;
  checksum: (bytes: Uint8Array) => Promise<string>;
  /**
   * Gets a part of the file anew, because the chunk that held it is missing or is not what was written; it is checked again.
   * @throws TokenglassError if it cannot
   */
  refetch: (start: number, end: number) => Promise<Uint8Array>;
}

/**
 * Yields stored chunks in order, one in memory at a time. Each is compared with the checksum taken when it was written; a damaged one is
 * fetched again and put back.
 *
 * @throws TokenglassError `model-invalid` if the chunk that was fetched again is another one too
 */
export async function* readChunks(options: ReadChunksOptions): AsyncGenerator<Uint8Array, void> {
  const { version, start = 0, end = version.storedBytes } = options;
  const { chunkBytes, checksums } = version;
  for (let index = Math.floor(start / chunkBytes); index < checksums.length; index++) {
    const from = index * chunkBytes;
    if (from >= end) return;
    const chunk = await readChunk(options, index);
    yield chunk.subarray(Math.max(0, start - from), Math.min(chunk.length, end - from));
  }
}

async function readChunk(options: ReadChunksOptions, index: number): Promise<Uint8Array> {
  const { database, version, checksum, refetch } = options;
  const stored = await database.readChunk(version.id, index).catch(() => undefined);
  const expected = version.checksums[index];
  if (stored && (await checksum(stored)) === expected) return stored;
  const from = index * version.chunkBytes;
  const fresh = await refetch(from, Math.min(from + version.chunkBytes, version.storedBytes));
  if ((await checksum(fresh)) !== expected) {
    const message =
      'Cannot load the stored model: a part of it is damaged, and the server has another version by now; load it again';
    throw new TokenglassError('model-invalid', message, { details: { chunk: index } });
  }
  await database.putChunk(version.id, index, fresh).catch(() => undefined);
  return fresh;
}
