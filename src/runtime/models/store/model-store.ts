import { systemClock, type Clock } from '../../../shared/clock.ts';
import { acquireLock, heldLocks, markInUse, type HeldLock } from './locks.ts';
import type { FileRow } from './rows.ts';
import { createSpace, type Space } from './space.ts';
import { createWeightDatabase, type WeightDatabase } from './weight-database.ts';

export interface ModelStoreOptions {
  /** @default 'tokenglass-weights' */
  databaseName?: string;
  /** Bytes of a chunk: what one interruption costs, and what is in memory at a time. @default 8 MiB */
  chunkBytes?: number;
  /** @default the global one */
  indexedDB?: IDBFactory;
  /** Rows, if not in IndexedDB. */
  database?: WeightDatabase;
  /** @default `navigator.locks` */
  locks?: LockManager;
  /** @default `navigator.storage` */
  storage?: Partial<StorageManager>;
  clock?: Clock;
}

export interface StoredFileInfo {
  path: string;
  /** Bytes that are stored. */
  storedBytes: number;
  /** Bytes of the whole file; absent while unknown. */
  totalBytes?: number;
  isComplete: boolean;
  /** As the host gave it, or computed once the file was complete. */
  sha256?: string;
  etag?: string;
}

export interface StoredModelInfo {
  /** Id of the source that it came from. */
  id: string;
  files: readonly StoredFileInfo[];
  /** Bytes that it takes, those of an update in progress included. */
  storedBytes: number;
  /** True if no file is in part. */
  isComplete: boolean;
  /** Unix epoch. */
  lastUsedAtMs: number;
}

export interface StoreUsage {
  /** Bytes of all stored weights. */
  storedBytes: number;
  /** Bytes that can still be written; absent where the browser does not say. */
  availableBytes?: number;
}

/** Weights on this device. Models come into it by being loaded through `storedSource`. */
export interface ModelStore {
  /** Models with their files, the one used last first. */
  list(): Promise<StoredModelInfo[]>;
  usage(): Promise<StoreUsage>;
  /** Deletes all files of a model, whole and in part, and resolves to the bytes that this freed. */
  delete(id: string): Promise<number>;
  /**
   * Deletes whole models, the one used least recently first, until `bytes` are free that were not, and resolves to the bytes freed (fewer,
   * if there is no more). A model that is being loaded stays.
   */
  evict(bytes: number): Promise<number>;
  /**
   * Asks the browser, once ever, not to clear this origin's data by itself. Only a page can ask; in a worker it has no effect. Never
   * rejects.
   */
  persist(): Promise<void>;
  /** Closes the connection; the next use opens it again. */
  close(): void;
  /** For what is built on the store. */
  readonly internals: StoreInternals;
}

/** Not for pages. */
export interface StoreInternals {
  database: WeightDatabase;
  space: Space;
  chunkBytes: number;
  clock: Clock;
  /** Keeps others from downloading the same file. */
  lockFile(model: string, path: string, options: { signal?: AbortSignal; onWait?: () => void }): Promise<HeldLock>;
  /** Keeps a model from being evicted. */
  markInUse(model: string): Promise<HeldLock>;
  /** A lock that lives as long as the caller, to be looked for by {@link StoreInternals.heldLockNames}. */
  lockName(name: string): Promise<HeldLock>;
  heldLockNames(): Promise<Set<string>>;
}

/** True where {@link createModelStore} works without being given an `indexedDB`. */
export const hasIndexedDb = (): boolean => typeof indexedDB !== 'undefined';

/** Opens the weight store of this origin. Nothing is read before it is used. */
export function createModelStore(options: ModelStoreOptions = {}): ModelStore {
  const { databaseName = 'tokenglass-weights', chunkBytes = 2 ** 23, clock = systemClock } = options;
  const navigator = (globalThis as { navigator?: Partial<Navigator> }).navigator;
  const { locks = navigator?.locks, storage = navigator?.storage } = options;
  const database = options.database ?? createWeightDatabase(databaseName, options.indexedDB ?? indexedDB);
  const space = createSpace(storage);
  const lockPrefix = `tokenglass:${databaseName}:`;
  const fileLock = (model: string, path: string): string => `${lockPrefix}file:${JSON.stringify([model, path])}`;
  const useLock = (model: string): string => `${lockPrefix}use:${model}`;

  const list = async (): Promise<StoredModelInfo[]> => {
    const rows = (await database.listFiles()).filter(({ complete, partial }) => complete ?? partial);
    const models = Map.groupBy(rows, ({ model }) => model);
    return [...models].map(([id, files]) => describe(id, files)).sort((a, b) => b.lastUsedAtMs - a.lastUsedAtMs);
  };

  return {
    list,
    async usage() {
      const storedBytes = (await list()).reduce((sum, model) => sum + model.storedBytes, 0);
      const availableBytes = await space.availableBytes();
      return { storedBytes, ...(availableBytes !== undefined && { availableBytes }) };
    },
    delete: (id) => database.deleteModel(id),
    async evict(bytes) {
      const held = await heldLocks(locks);
      let freed = 0;
      for (const { id } of (await list()).reverse()) {
        if (freed >= bytes) break;
        if (held.has(useLock(id))) continue;
        freed += await database.deleteModel(id);
      }
      return freed;
    },
    async persist() {
      try {
        if (space.canPersist && (await database.takeOnce('persist'))) await space.persist();
      } catch {
        // The browser then does as it does without being asked.
      }
    },
    close: () => database.close(),
    internals: {
      database,
      space,
      chunkBytes,
      clock,
      lockFile: (model, path, lockOptions) => acquireLock(locks, fileLock(model, path), lockOptions),
      markInUse: (model) => markInUse(locks, useLock(model)),
      lockName: (name) => acquireLock(locks, lockPrefix + name),
      async heldLockNames() {
        const names = [...(await heldLocks(locks))].filter((name) => name.startsWith(lockPrefix));
        return new Set(names.map((name) => name.slice(lockPrefix.length)));
      },
    },
  };
}

function describe(id: string, rows: readonly FileRow[]): StoredModelInfo {
  const files = rows.map(({ path, complete, partial }) => {
    const { totalBytes, sha256, etag } = complete ?? partial ?? {};
    return {
      path,
      storedBytes: (complete?.storedBytes ?? 0) + (partial?.storedBytes ?? 0),
      isComplete: complete !== undefined,
      ...(totalBytes !== undefined && { totalBytes }),
      ...(sha256 !== undefined && { sha256 }),
      ...(etag !== undefined && { etag }),
    };
  });
  return {
    id,
    files,
    storedBytes: files.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    isComplete: files.every(({ isComplete }) => isComplete),
    lastUsedAtMs: Math.max(...rows.map(({ usedAtMs }) => usedAtMs)),
  };
}
