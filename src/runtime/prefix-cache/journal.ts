import { randomId } from '../../shared/random-id.ts';
import { promisifyRequest } from 'idb-keyval';
import type { ChatMessage, SamplingParams } from '../../shared/generation.ts';
import { getRow, rowKey, type KvDatabase } from './kv-database.ts';

const JOURNAL_VERSION = 1;

/** What an answer is made from, complete: nothing is left to the defaults of whoever goes on with it. */
export interface JournalRequest {
  messages?: readonly ChatMessage[];
  prompt?: string;
  promptTokens: readonly number[];
  sampling: Required<SamplingParams>;
  maxTokens: number;
  stop: readonly string[];
  stopIds: readonly number[];
  logprobs: number;
}

/** An answer on its way. */
export interface JournalEntry {
  version: typeof JOURNAL_VERSION;
  id: string;
  /** Fingerprint of the model. */
  scope: string;
  /** Names the lock of the engine that makes it; free once that engine is gone. */
  owner: string;
  request: JournalRequest;
  output: readonly number[];
  atMs: number;
}

export interface JournalOptions {
  database: KvDatabase;
  scope: string;
  now: () => number;
  /** @default `navigator.locks`; without them any answer of another engine counts as cut short once it was not written for a while */
  locks?: LockManager | undefined;
}

/** Takes down one answer. */
export interface JournalWriter {
  token(id: number): void;
  /** It ended. `cut`: not by itself, so it may be gone on with. */
  end(how: 'done' | 'cut'): void;
}

/** An answer is written down at most this often, and never twice at a time: far less often than tokens come. */
const WRITE_EVERY_MS = 250;
/** Without locks, an answer not written for so long is taken for cut short. */
const ABANDONED_AFTER_MS = 10_000;
const MAX_ENTRIES = 16;

/** The token journal: which answers are on their way, so that one that was cut short can go on. Writing never holds up a token, and may fail. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #owner = `tokenglass-journal-${randomId()}`;
  readonly #running = new Set<string>();
  readonly #writes = new Set<Promise<void>>();
  #releaseLock: (() => void) | undefined;
  #lockHeld: Promise<void> | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** @param output what there is of the answer already */
  begin(id: string, request: JournalRequest, output: readonly number[] = []): JournalWriter {
    const { scope, now } = this.#options;
    this.#running.add(id);
    const ids = [...output];
    let writing: Promise<void> | undefined;
    let writtenMs = -Infinity;
    const write = (): void => {
      if (writing || now() - writtenMs < WRITE_EVERY_MS) return;
      writtenMs = now();
      const entry = { version: JOURNAL_VERSION, id, scope, owner: this.#owner, request, output: [...ids], atMs: now() };
      writing = this.#track(this.#put(entry as JournalEntry)).then(() => (writing = undefined));
    };
    write();
    return {
      token: (token) => {
        ids.push(token);
        write();
      },
      end: (how) => {
        this.#running.delete(id);
        const last = (): Promise<void> => {
          if (how === 'done') return this.delete(id);
          const entry = { version: JOURNAL_VERSION, id, scope, owner: '', request, output: ids, atMs: now() };
          return this.#put(entry as JournalEntry);
        };
        void this.#track((writing ?? Promise.resolve()).then(last));
      },
    };
  }

  /** Answers of this model that nobody makes any more, latest first. */
  async list(): Promise<JournalEntry[]> {
    await this.settled();
    // Rows first: whoever owns one held the lock before.
    const rows = [...(await this.#options.database.list('journal')).values()];
    const isFree = await this.#whoIsFree();
    const entries = rows.filter(isEntry).sort((a, b) => b.atMs - a.atMs);
    const old = rows.length > MAX_ENTRIES ? entries.filter(isFree).slice(MAX_ENTRIES) : [];
    for (const { id } of old) await this.delete(id);
    return entries.filter((entry) => entry.scope === this.#options.scope && isFree(entry) && !old.includes(entry));
  }

  /** Makes an answer this engine's own; undefined if it is gone, or another tab was faster. */
  async claim(id: string): Promise<JournalEntry | undefined> {
    const { database, scope, now } = this.#options;
    const seen = await database.transact('readonly', (rows) => getRow(rows, 'journal', id));
    const isFree = await this.#whoIsFree();
    if (!isEntry(seen) || seen.scope !== scope || !isFree(seen)) return undefined;
    await this.#holdLock();
    return database.transact('readwrite', async (rows) => {
      const entry = await getRow(rows, 'journal', id);
      if (!isEntry(entry) || entry.owner !== seen.owner || this.#running.has(id)) return undefined;
      this.#running.add(id);
      rows.put({ ...entry, owner: this.#owner, atMs: now() }, rowKey('journal', id));
      return entry;
    });
  }

  async delete(id: string): Promise<void> {
    await this.#options.database.transact('readwrite', (rows) => promisifyRequest(rows.delete(rowKey('journal', id))));
  }

  /** Forgets the answers of all models. */
  async clear(): Promise<void> {
    await this.settled();
    await this.#options.database.transact('readwrite', (rows) =>
      promisifyRequest(rows.delete(IDBKeyRange.bound('journal/', 'journal/\uffff'))),
    );
  }

  /** Resolves once everything so far is written, or could not be. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  async close(): Promise<void> {
    await this.settled();
    this.#releaseLock?.();
  }

  #track(write: Promise<void>): Promise<void> {
    // A journal that cannot be written is a comfort lost, no more.
    const settled = write.catch(() => undefined).finally(() => this.#writes.delete(settled));
    this.#writes.add(settled);
    return settled;
  }

  async #put(entry: JournalEntry): Promise<void> {
    if (entry.owner !== '') await this.#holdLock();
    await this.#options.database.transact('readwrite', (rows) =>
      promisifyRequest(rows.put(entry, rowKey('journal', entry.id))),
    );
  }

  /** Held while this engine lives; browsers let go of it when a tab or worker dies. Resolves once it is held, or never will be. */
  #holdLock(): Promise<void> {
    this.#lockHeld ??= new Promise((resolve) => {
      const held = new Promise<void>((release) => (this.#releaseLock = release));
      const locks = this.#locks();
      if (!locks) resolve();
      locks
        ?.request(this.#owner, () => {
          resolve();
          return held;
        })
        .catch(() => resolve());
    });
    return this.#lockHeld;
  }

  async #whoIsFree(): Promise<(entry: JournalEntry) => boolean> {
    const locks = this.#locks();
    const names = locks && (await locks.query()).held?.map(({ name }) => name);
    const alive = new Set(names);
    const { now } = this.#options;
    return ({ id, owner, atMs }) => {
      if (owner === this.#owner) return !this.#running.has(id);
      return names ? !alive.has(owner) : owner === '' || now() - atMs > ABANDONED_AFTER_MS;
    };
  }

  #locks(): LockManager | undefined {
    if ('locks' in this.#options) return this.#options.locks;
    return (globalThis.navigator as { locks?: LockManager } | undefined)?.locks;
  }
}

/** Rows come from a disk: nothing about them is certain. */
function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Partial<Record<keyof JournalEntry, unknown>>;
  const request = entry.request as Partial<Record<keyof JournalRequest, unknown>> | null | undefined;
  return (
    entry.version === JOURNAL_VERSION &&
    [entry.id, entry.scope, entry.owner].every((text) => typeof text === 'string') &&
    typeof entry.atMs === 'number' &&
    typeof request === 'object' &&
    request !== null &&
    typeof request.maxTokens === 'number' &&
    typeof request.sampling === 'object' &&
    [entry.output, request.promptTokens, request.stopIds, request.stop].every((list) => Array.isArray(list))
  );
}
