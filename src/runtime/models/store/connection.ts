/** Ends a transaction that was found to be pointless; see {@link Connection.transact}. */
export interface Transaction {
  objectStore(name: string): IDBObjectStore;
  /** Undoes everything; `transact` then resolves to undefined. */
  giveUp(): void;
}

export interface ConnectionOptions {
  name: string;
  version: number;
  /** Creates what is missing; called in a version change. */
  upgrade: (database: IDBDatabase) => void;
  indexedDB: IDBFactory;
}

/**
 * A connection to an IndexedDB database that comes back: browsers close connections (memory pressure, a lost disk, "clear site
 * data"), and an open that failed may succeed a moment later. A failed open is not kept, and what failed for the connection's sake is
 * tried once more on a new one.
 *
 * This is not idb-keyval because a chunk and the row that counts it must be written in one transaction, over two object stores, and
 * chunks go by key range; its `createStore` has one object store a database and keeps a failed open for good.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #database: Promise<IDBDatabase> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` in one transaction and resolves, after it was committed, to what the returned function gives.
   * @throws DOMException of IndexedDB, `QuotaExceededError` for example
   */
  async transact<Result>(
    stores: readonly string[],
    mode: 'readonly' | 'readwrite',
    work: (transaction: Transaction) => () => Result,
    { isDurable = false } = {},
  ): Promise<Result | undefined> {
    const once = async (): Promise<Result | undefined> => {
      const database = await this.#open();
      const durability = isDurable ? 'strict' : 'relaxed';
      return run(database.transaction([...stores], mode, { durability }), work);
    };
    try {
      return await once();
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      this.close();
      return once();
    }
  }

  /** Closes the connection; the next transaction opens a new one. */
  close(): void {
    const database = this.#database;
    this.#database = undefined;
    database?.then((open) => open.close()).catch(() => undefined);
  }

  #open(): Promise<IDBDatabase> {
    if (this.#database) return this.#database;
    const opening = this.#request();
    this.#database = opening;
    const forget = (): void => {
      if (this.#database === opening) this.#database = undefined;
    };
    opening.then((database) => {
      database.onclose = forget;
      // Another tab wants to delete or upgrade the database, which it cannot before this connection closes.
      database.onversionchange = () => {
        database.close();
        forget();
      };
    }, forget);
    return opening;
  }

  #request(): Promise<IDBDatabase> {
    const { name, version, upgrade, indexedDB } = this.#options;
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(name, version);
      request.onupgradeneeded = () => upgrade(request.result);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new DOMException('The open failed', 'UnknownError'));
    });
  }
}

async function run<Result>(
  transaction: IDBTransaction,
  work: (transaction: Transaction) => () => Result,
): Promise<Result | undefined> {
  let gaveUp = false;
  const giveUp = (): void => {
    gaveUp = true;
    transaction.abort();
  };
  let result: () => Result;
  try {
    result = work({ objectStore: (name) => transaction.objectStore(name), giveUp });
  } catch (error) {
    transaction.abort();
    throw error;
  }
  return await new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(result());
    transaction.onabort = () => {
      if (gaveUp) resolve(undefined);
      else reject(transaction.error ?? new DOMException('The transaction was aborted', 'AbortError'));
    };
  });
}

/** A closed connection gives the first, a connection that breaks under a transaction one of the others. */
function isConnectionFault(error: unknown): boolean {
  return error instanceof DOMException && ['InvalidStateError', 'AbortError', 'UnknownError'].includes(error.name);
}
