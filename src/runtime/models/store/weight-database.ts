import { Connection } from './connection.ts';
import type { FileRow, LoadingRow, WriteBatch } from './rows.ts';

/** The rows of the weight store. Each call is one transaction. */
export interface WeightDatabase {
  getFile(model: string, path: string): Promise<FileRow | undefined>;
  /** All files of a model; of all models without one. */
  listFiles(model?: string): Promise<FileRow[]>;
  /** Resolves to false, and has written nothing, if `requiresPartial` does not hold. */
  write(batch: WriteBatch): Promise<boolean>;
  readChunk(version: string, index: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Replaces a chunk that was found damaged. */
  putChunk(version: string, index: number, bytes: Uint8Array): Promise<void>;
  /** Changes the time of the last use, if the file is still there. */
  touchFile(model: string, path: string, usedAtMs: number): Promise<void>;
  /** Deletes rows and chunks of a model and resolves to the bytes that this freed. */
  deleteModel(model: string): Promise<number>;
  /** Number of chunks that belong to no file; not 0 only after a fault. */
  countStrayChunks(): Promise<number>;
  listLoading(): Promise<LoadingRow[]>;
  putLoading(row: LoadingRow): Promise<void>;
  deleteLoading(id: string): Promise<void>;
  /** True for the first caller with this name, ever. */
  takeOnce(name: string): Promise<boolean>;
  close(): void;
}

const FILES = 'files';
const CHUNKS = 'chunks';
const LOADING = 'loading';
const ONCE = 'once';

/** Opens (lazily) the weight database of this origin. */
export function createWeightDatabase(name: string, indexedDB: IDBFactory): WeightDatabase {
  const connection = new Connection({ name, version: 1, upgrade, indexedDB });
  const read = async <T>(store: string, request: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const result = await connection.transact([store], 'readonly', (transaction) => {
      const pending = request(transaction.objectStore(store));
      return () => pending.result;
    });
    return result as T;
  };
  const change = async (store: string, request: (store: IDBObjectStore) => IDBRequest): Promise<void> => {
    await connection.transact([store], 'readwrite', (transaction) => {
      request(transaction.objectStore(store));
      return () => undefined;
    });
  };
  return {
    getFile: (model, path) => read(FILES, (files) => files.get([model, path]) as IDBRequest<FileRow | undefined>),
    listFiles: (model) =>
      read(FILES, (files) => files.getAll(model === undefined ? null : prefix(model)) as IDBRequest<FileRow[]>),
    write: (batch) => write(connection, batch),
    readChunk: (version, index) =>
      read(CHUNKS, (chunks) => chunks.get([version, index]) as IDBRequest<Uint8Array<ArrayBuffer> | undefined>),
    putChunk: (version, index, bytes) => change(CHUNKS, (chunks) => chunks.put(exact(bytes), [version, index])),
    touchFile: (model, path, usedAtMs) => touch(connection, model, path, usedAtMs),
    deleteModel: (model) => deleteModel(connection, model),
    countStrayChunks: () => countStrayChunks(connection),
    listLoading: () => read(LOADING, (loading) => loading.getAll() as IDBRequest<LoadingRow[]>),
    putLoading: (row) => change(LOADING, (loading) => loading.put(row)),
    deleteLoading: (id) => change(LOADING, (loading) => loading.delete(id)),
    takeOnce: (thing) => takeOnce(connection, thing),
    close: () => connection.close(),
  };
}

function upgrade(database: IDBDatabase): void {
  database.createObjectStore(FILES, { keyPath: ['model', 'path'] }); // FileRow
  database.createObjectStore(CHUNKS); // [version id, index] -> Uint8Array
  database.createObjectStore(LOADING, { keyPath: 'id' }); // LoadingRow
  database.createObjectStore(ONCE); // name -> true
}

/** All keys that are arrays and begin with `first`: arrays sort after numbers and strings. */
function prefix(first: string): IDBKeyRange {
  return IDBKeyRange.bound([first], [first, []]);
}

/** A view of a larger buffer would be stored with all of the buffer. */
function exact(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

async function write(connection: Connection, batch: WriteBatch): Promise<boolean> {
  const { row, requiresPartial, chunk, dropVersions = [], isDurable = false } = batch;
  const put = ({ objectStore }: Pick<IDBTransaction, 'objectStore'>): void => {
    const chunks = objectStore(CHUNKS);
    for (const version of dropVersions) chunks.delete(prefix(version));
    if (chunk) chunks.put(exact(chunk.bytes), [chunk.version, chunk.index]);
    const isEmpty = !row.complete && !row.partial && row.absentAtMs === undefined;
    if (isEmpty) objectStore(FILES).delete([row.model, row.path]);
    else objectStore(FILES).put(row);
  };
  const written = await connection.transact(
    [FILES, CHUNKS],
    'readwrite',
    (transaction) => {
      if (requiresPartial === undefined) {
        put(transaction);
        return () => true;
      }
      const request = transaction.objectStore(FILES).get([row.model, row.path]) as IDBRequest<FileRow | undefined>;
      request.onsuccess = () => {
        if (request.result?.partial?.id === requiresPartial) put(transaction);
        else transaction.giveUp();
      };
      return () => true;
    },
    { isDurable },
  );
  return written ?? false;
}

async function touch(connection: Connection, model: string, path: string, usedAtMs: number): Promise<void> {
  await connection.transact([FILES], 'readwrite', (transaction) => {
    const files = transaction.objectStore(FILES);
    const request = files.get([model, path]) as IDBRequest<FileRow | undefined>;
    request.onsuccess = () => {
      if (request.result) files.put({ ...request.result, usedAtMs });
    };
    return () => undefined;
  });
}

async function deleteModel(connection: Connection, model: string): Promise<number> {
  const freed = await connection.transact([FILES, CHUNKS], 'readwrite', (transaction) => {
    const request = transaction.objectStore(FILES).getAll(prefix(model)) as IDBRequest<FileRow[]>;
    let bytes = 0;
    request.onsuccess = () => {
      for (const version of request.result.flatMap(versionsOf)) {
        bytes += version.storedBytes;
        transaction.objectStore(CHUNKS).delete(prefix(version.id));
      }
      transaction.objectStore(FILES).delete(prefix(model));
    };
    return () => bytes;
  });
  return freed ?? 0;
}

const versionsOf = ({ complete, partial }: FileRow) => [complete, partial].filter((version) => version !== undefined);

async function countStrayChunks(connection: Connection): Promise<number> {
  const count = await connection.transact([FILES, CHUNKS], 'readonly', (transaction) => {
    const files = transaction.objectStore(FILES).getAll() as IDBRequest<FileRow[]>;
    const keys = transaction.objectStore(CHUNKS).getAllKeys();
    return () => {
      const chunks = new Map(files.result.flatMap(versionsOf).map(({ id, checksums }) => [id, checksums.length]));
      const owned = (key: IDBValidKey): boolean => {
        const [version, index] = key as [string, number];
        return index < (chunks.get(version) ?? 0);
      };
      return keys.result.filter((key) => !owned(key)).length;
    };
  });
  return count ?? 0;
}

async function takeOnce(connection: Connection, name: string): Promise<boolean> {
  const taken = await connection.transact([ONCE], 'readwrite', (transaction) => {
    const once = transaction.objectStore(ONCE);
    const before = once.get(name);
    before.onsuccess = () => {
      once.put(true, name);
    };
    return () => before.result === undefined;
  });
  return taken ?? false;
}
