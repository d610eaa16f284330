import type { RetryPolicy } from '../download/retry.ts';
import type { ModelSource } from '../source.ts';
import { createModelStore, type ModelStore, type ModelStoreOptions } from '../store/model-store.ts';

/** A store with a database of its own, and small chunks. */
export interface TestStore extends ModelStore {
  databaseName: string;
  /** Deletes the database; rejects if a connection of this store or of a worker is left open. */
  destroy(): Promise<void>;
}

export const CHUNK_BYTES = 4096;

export function createTestStore(options: ModelStoreOptions = {}): TestStore {
  const databaseName = options.databaseName ?? `tokenglass-test-${crypto.randomUUID()}`;
  const store = createModelStore({ chunkBytes: CHUNK_BYTES, ...options, databaseName });
  return Object.assign(store, { databaseName, destroy: () => destroy(store, databaseName) });
}

function destroy(store: ModelStore, name: string): Promise<void> {
  store.close();
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error ?? new Error('The database was not deleted'));
  });
}

/** Waits for nothing, and notes what would have been waited for; a network is never too silent. */
export function instantRetry(): Partial<RetryPolicy> & { waitedMs: number[] } {
  const waitedMs: number[] = [];
  return {
    waitedMs,
    stallMs: Infinity,
    random: () => 1,
    sleep: (ms) => {
      waitedMs.push(ms);
      return Promise.resolve();
    },
  };
}

/** Reads a file whole. (`Response.arrayBuffer()` would put an error of its own in place of the stream's.) */
export async function readAll(source: ModelSource, path: string, signal?: AbortSignal): Promise<Uint8Array> {
  const { stream } = await source.open(path, signal ? { signal } : {});
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

export const rejection = (work: Promise<unknown>): Promise<unknown> => work.then(
  (value) => new Error(`It did not reject: ${String(value)}`),
  (error: unknown) => error,
);

/** True if two byte arrays are equal; faster and with shorter failures than a deep comparison. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
