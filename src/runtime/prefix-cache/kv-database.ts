import { createStore, promisifyRequest, type UseStore } from 'idb-keyval';

/** Name of the database of blocks and journals, one for all models of this origin. */
export const KV_DATABASE = 'tokenglass-kv';

/** Kinds of rows, each a prefix of its keys. */
export type RowKind = 'record' | 'data' | 'journal';

export const rowKey = (kind: RowKind, name: string): string => `${kind}/${name}`;

/** The store of idb-keyval behind the stored tier, whose connection comes back once it was closed. */
export class KvDatabase {
  readonly #name: string;
  #store: UseStore;

  constructor(name: string = KV_DATABASE) {
    this.#name = name;
    this.#store = createStore(name, 'rows');
  }

  /**
   * Runs `work` in one transaction and resolves once it is committed.
   * @throws DOMException of IndexedDB
   */
  async transact<Result>(
    mode: IDBTransactionMode,
    work: (rows: IDBObjectStore) => Result | PromiseLike<Result>,
  ): Promise<Result> {
    const once = (): Promise<Result> =>
      this.#store(mode, async (rows) => {
        const committed = promisifyRequest(rows.transaction);
        committed.catch(() => undefined); // told by the await below, unless `work` throws first
        try {
          const result = await work(rows);
          await committed;
          return result;
        } catch (error) {
          abort(rows.transaction);
          throw error;
        }
      });
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'InvalidStateError')) throw error;
      this.#store = createStore(this.#name, 'rows');
      return once();
    }
  }

  /** All rows of a kind, by name. */
  async list(kind: RowKind): Promise<Map<string, unknown>> {
    const range = IDBKeyRange.bound(`${kind}/`, `${kind}/\uffff`);
    const [keys, values] = await this.transact('readonly', (rows) =>
      Promise.all([promisifyRequest(rows.getAllKeys(range)), promisifyRequest<unknown[]>(rows.getAll(range))]),
    );
    return new Map(keys.map((key, index) => [(key as string).slice(kind.length + 1), values[index]]));
  }

  async clear(): Promise<void> {
    await this.transact('readwrite', (rows) => promisifyRequest(rows.clear()));
  }
}

/** The row, or undefined; to be called within a transaction. */
export const getRow = (rows: IDBObjectStore, kind: RowKind, name: string): Promise<unknown> =>
  promisifyRequest<unknown>(rows.get(rowKey(kind, name)));

/** Undoes a transaction that has not ended. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // it has ended
  }
}
