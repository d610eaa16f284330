import type { FileRow, StoredVersion } from '../store/rows.ts';
import type { WeightDatabase } from '../store/weight-database.ts';
import { checksumOf } from './digest.ts';

export interface ChunkWriterOptions {
  database: WeightDatabase;
  /** As it is in the store now; undefined if the file is not. */
  row: FileRow | undefined;
  model: string;
  path: string;
  /** What is written: new, or the partial version of `row`, whose chunks are kept. */
  version: StoredVersion;
  now: () => number;
  /** Called once when nothing more is written, and what was written is gone: the download itself goes on. */
  onFailed: (error: unknown) => void;
}

const FIRST_BUFFER_BYTES = 2 ** 16;

/**
 * Cuts bytes that come in any pieces into chunks and stores each with the row that counts it, in one transaction: whenever the tab dies, the
 * row says exactly what there is. "Complete" is written with the last chunk, after the caller has checked the whole. A failure to write ends
 * the writing, not the download, and leaves nothing behind.
 */
export class ChunkWriter {
  readonly #options: ChunkWriterOptions;
  #row: FileRow;
  #version: StoredVersion;
  /** Grows up to one chunk, and is used again: the store has copied it when a write resolves. */
  #buffer: Uint8Array;
  #filled = 0;
  #isOver = false;
  /** False until the first write, which drops what was there in part. */
  #isStored: boolean;

  constructor(options: ChunkWriterOptions) {
    const { row, model, path, version, now } = options;
    this.#options = options;
    this.#row = row ?? { model, path, usedAtMs: now() };
    this.#version = version;
    this.#isStored = row?.partial?.id === version.id;
    this.#buffer = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, version.chunkBytes));
  }

  /** Takes a copy of `piece`. Resolves when all full chunks are stored. */
  async write(piece: Uint8Array): Promise<void> {
    const { chunkBytes } = this.#version;
    for (let at = 0; at < piece.length && !this.#isOver; ) {
      const part = piece.subarray(at, at + chunkBytes - this.#filled);
      this.#reserve(this.#filled + part.length);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === chunkBytes) await this.#store(false);
    }
  }

  /** Stores what is left and marks the file complete; what was complete before is dropped. */
  async finish(): Promise<void> {
    if (this.#isOver) return;
    await this.#store(true);
    this.#isOver = true;
  }

  /** Drops what was written, or was there in part before. A version that was complete before stays. */
  async discard(): Promise<void> {
    this.#isOver = true;
    const { partial, ...row } = this.#row;
    if (!partial) return;
    await this.#options.database
      .write({ row, requiresPartial: partial.id, dropVersions: [partial.id] })
      // The store is broken, or is full to the last byte: the next download replaces the version.
      .catch(() => undefined);
  }

  async #store(isLast: boolean): Promise<void> {
    const bytes = this.#buffer.subarray(0, this.#filled);
    const index = this.#version.checksums.length;
    const { id } = this.#version;
    try {
      const version = await this.#withChunk(bytes);
      const { database, now } = this.#options;
      const { complete, partial, absentAtMs: _, ...rest } = this.#row;
      const row: FileRow = isLast
        ? { ...rest, usedAtMs: now(), complete: version }
        : { ...rest, usedAtMs: now(), partial: version, ...(complete && { complete }) };
      const dropped = [...(isLast && complete ? [complete.id] : []), ...(partial && partial.id !== id ? [partial.id] : [])];
      const written = await database.write({
        row,
        ...(this.#isStored && { requiresPartial: id }),
        ...(bytes.length > 0 && { chunk: { version: id, index, bytes } }),
        ...(dropped.length > 0 && { dropVersions: dropped }),
        isDurable: isLast,
      });
      if (!written) throw new DOMException('It was deleted while it was being downloaded', 'NotFoundError');
      this.#row = row;
      this.#version = version;
      this.#isStored = true;
      this.#filled = 0;
    } catch (error) {
      await this.discard();
      this.#options.onFailed(error);
    }
  }

  async #withChunk(bytes: Uint8Array): Promise<StoredVersion> {
    const { checksums, storedBytes } = this.#version;
    if (bytes.length === 0) return { ...this.#version, totalBytes: storedBytes };
    const total = storedBytes + bytes.length;
    return { ...this.#version, storedBytes: total, checksums: [...checksums, await checksumOf(bytes)] };
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const { chunkBytes, totalBytes = Infinity, storedBytes } = this.#version;
    const most = Math.min(chunkBytes, Math.max(bytes, totalBytes - storedBytes));
    const larger = new Uint8Array(Math.min(most, Math.max(bytes, this.#buffer.length * 4)));
    larger.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = larger;
  }
}
