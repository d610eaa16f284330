import { promisifyRequest } from 'idb-keyval';
import type { BlockKey } from './block-names.ts';
import { createRecord, isIntact, isRecord, judgeRecord, type BlockRecord } from './block-record.ts';
import { getRow, rowKey, type KvDatabase } from './kv-database.ts';

export interface StoredTierOptions {
  database: KvDatabase;
  /** Model fingerprint, quantisation, architecture, precision and layout of the KV. */
  scope: string;
  /** Bytes of a block. */
  blockBytes: number;
  /** Bytes that a block has more where the state at its end is stored with it. @default 0 */
  stateBytes?: number;
  /** Bytes of all blocks of all models together. */
  budgetBytes: number;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** True for a block that stays, and for which others go. @default none */
  isPinned?: (name: string) => boolean;
}

/** A stored block that was looked through, but whose bytes were not read. */
interface Candidate {
  key: BlockKey;
  record: BlockRecord;
}

/** The time of the last use is only written when it is off by more than this. */
const TOUCH_AFTER_MS = 60_000;
/** Room is made for more than the next block, as it takes looking through all records. */
const EVICT_TO = 0.9;

/** Blocks in IndexedDB, kept over reloads and shared by the tabs of an origin. Whatever cannot be proven right is dropped. */
export class StoredTier {
  readonly #options: StoredTierOptions;
  #budgetBytes: number;
  /** Bytes of all blocks, those of other tabs as of the last look; absent before the first. */
  #totalBytes: number | undefined;
  #rejected = 0;
  #evicted = 0;

  constructor(options: StoredTierOptions) {
    this.#options = options;
    this.#budgetBytes = options.budgetBytes;
  }

  /** Records that were found broken, foreign or of another version, and dropped. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Blocks given up for want of room, so far. */
  get evicted(): number {
    return this.#evicted;
  }

  /**
   * Bytes of the blocks from `from` on, as far as they are stored and right.
   * @param keys the chain from its beginning
   */
  async find(keys: readonly BlockKey[], from: number): Promise<Uint8Array<ArrayBuffer>[]> {
    const { database } = this.#options;
    const next = keys[from];
    if (!next) return [];
    const { chain, broken, data } = await database.transact('readonly', async (rows) => {
      const key = await promisifyRequest(rows.getKey(rowKey('record', next.name)));
      if (key === undefined) return { chain: [], broken: [], data: [] };
      const looked = await this.#look(rows, keys);
      const wanted = looked.chain.slice(from);
      return { ...looked, data: await Promise.all(wanted.map(({ key: { name } }) => getRow(rows, 'data', name))) };
    });
    const found: Uint8Array<ArrayBuffer>[] = [];
    for (const [index, { key, record }] of chain.slice(from).entries()) {
      const bytes = data[index];
      if (!isIntact(record, bytes)) {
        broken.push(key.name);
        break;
      }
      found.push(bytes);
    }
    await this.#drop(broken);
    return found;
  }

  /** How many blocks of the chain, from its beginning, are stored; they count as used now. */
  async touch(keys: readonly BlockKey[]): Promise<number> {
    const { chain, broken } = await this.#options.database.transact('readonly', (rows) => this.#look(rows, keys));
    await this.#drop(broken);
    const now = this.#options.now();
    const stale = chain.filter(({ record }) => Math.abs(now - record.usedAtMs) > TOUCH_AFTER_MS);
    if (stale.length > 0)
      await this.#options.database.transact('readwrite', async (rows) => {
        for (const { key, record } of chain) {
          const current = await getRow(rows, 'record', key.name);
          if (isRecord(current) && current.id === record.id)
            rows.put({ ...record, usedAtMs: now }, rowKey('record', key.name));
        }
      });
    return chain.length;
  }

  /**
   * Stores the blocks of a chain from `from` on; those that are there already stay. All of them are written, or none.
   * @returns false if blocks before `from` are not stored (any more), or there is no room
   */
  async put(keys: readonly BlockKey[], from: number, data: readonly Uint8Array<ArrayBuffer>[]): Promise<boolean> {
    if (!(await this.#makeRoom(data.reduce((sum, { byteLength }) => sum + byteLength, 0)))) return false;
    try {
      return await this.#write(keys, from, data);
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'QuotaExceededError')) throw error;
      // The disk holds less than the budget: stay well below what there is from now on.
      this.#budgetBytes = (this.#totalBytes ?? 0) / 2;
      await this.#makeRoom(0);
      return false;
    }
  }

  /** The records of this model that can be read, by name. */
  async list(): Promise<Map<string, BlockRecord>> {
    const all = await this.#records();
    return new Map([...all].filter(([, { scope }]) => scope === this.#options.scope));
  }

  /** Drops the blocks of all models. */
  async clear(): Promise<void> {
    await this.#options.database.transact('readwrite', (rows) => {
      for (const kind of ['record', 'data'] as const) rows.delete(IDBKeyRange.bound(`${kind}/`, `${kind}/\uffff`));
    });
    this.#totalBytes = 0;
  }

  async #write(keys: readonly BlockKey[], from: number, data: readonly Uint8Array<ArrayBuffer>[]): Promise<boolean> {
    const { database, scope, now } = this.#options;
    let added = 0;
    const isWritten = await database.transact('readwrite', async (rows) => {
      const { chain } = await this.#look(rows, keys.slice(0, from + data.length));
      if (chain.length < from) return false;
      let parentId = chain.at(-1)?.record.id ?? '';
      for (let index = chain.length; index < from + data.length; index++) {
        const key = keys[index]!;
        const bytes = data[index - from]!;
        const record = createRecord({ scope, parentId, key, index, data: bytes, usedAtMs: now() });
        const replaced = await promisifyRequest(rows.getKey(rowKey('record', key.name)));
        rows.put(record, rowKey('record', key.name));
        rows.put(exact(bytes), rowKey('data', key.name));
        parentId = record.id;
        if (replaced === undefined) added += bytes.byteLength;
      }
      return true;
    });
    this.#totalBytes = (this.#totalBytes ?? 0) + added;
    return isWritten;
  }

  /** Follows the chain from its beginning, as far as each record is right and names the one before. */
  async #look(rows: IDBObjectStore, keys: readonly BlockKey[]): Promise<{ chain: Candidate[]; broken: string[] }> {
    const { scope, blockBytes, stateBytes = 0 } = this.#options;
    const records = await Promise.all(keys.map(({ name }) => getRow(rows, 'record', name)));
    const chain: Candidate[] = [];
    for (const [index, key] of keys.entries()) {
      const record = records[index];
      if (record === undefined) break;
      const parentId = chain.at(-1)?.record.id ?? '';
      const verdict = judgeRecord(record, { scope, parentId, key, blockBytes, stateBytes });
      if (verdict === 'broken') return { chain, broken: [key.name] };
      if (verdict === 'other') break;
      chain.push({ key, record: record as BlockRecord });
    }
    return { chain, broken: [] };
  }

  async #drop(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    this.#rejected += names.length;
    await this.#delete(names);
  }

  async #delete(names: readonly string[]): Promise<void> {
    await this.#options.database.transact('readwrite', (rows) => {
      for (const name of names) {
        rows.delete(rowKey('record', name));
        rows.delete(rowKey('data', name));
      }
    });
  }

  /** Evicts, least recently used chain first and each from its end, so that `bytes` more keep to the budget; false if they cannot. */
  async #makeRoom(bytes: number): Promise<boolean> {
    if (this.#totalBytes !== undefined && this.#totalBytes + bytes <= this.#budgetBytes) return true;
    const { isPinned = () => false } = this.#options;
    const records = await this.#records();
    let total = [...records.values()].reduce((sum, record) => sum + record.bytes, 0);
    const usedAtMs = chainUses([...records.values()]);
    const order = [...records]
      .filter(([name]) => !isPinned(name))
      .map(([name, record]) => ({ name, record, usedAtMs: usedAtMs.get(record.id)! }))
      .sort((a, b) => a.usedAtMs - b.usedAtMs || b.record.index - a.record.index);
    const victims: string[] = [];
    const target = total + bytes <= this.#budgetBytes ? Infinity : this.#budgetBytes * EVICT_TO;
    for (const { name, record } of order) {
      if (total + bytes <= target) break;
      total -= record.bytes;
      victims.push(name);
    }
    if (victims.length > 0) await this.#delete(victims);
    this.#evicted += victims.length;
    this.#totalBytes = total;
    return total + bytes <= this.#budgetBytes;
  }

  /** Records of all models; rows that are none are deleted. */
  async #records(): Promise<Map<string, BlockRecord>> {
    const records = new Map<string, BlockRecord>();
    const broken: string[] = [];
    for (const [name, record] of await this.#options.database.list('record')) {
      if (isRecord(record)) records.set(name, record);
      else broken.push(name);
    }
    await this.#drop(broken);
    return records;
  }
}

/** The time of the last use of each record, by id: that of a block is never before those of the blocks that follow it. */
function chainUses(records: readonly BlockRecord[]): Map<string, number> {
  const uses = new Map(records.map(({ id, usedAtMs }) => [id, usedAtMs]));
  for (const { id, parentId } of [...records].sort((a, b) => b.index - a.index)) {
    const parentUse = uses.get(parentId);
    if (parentUse !== undefined) uses.set(parentId, Math.max(parentUse, uses.get(id)!));
  }
  return uses;
}

/** A view of a larger buffer would be stored with all of the buffer. */
const exact = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
