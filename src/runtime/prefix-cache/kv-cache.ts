import {
  KV_BLOCK_TOKENS,
  type Backend,
  type BackendKv,
  type HeldKvBlock,
  type SequenceId,
} from '../backends/backend.ts';
import type { PrefixCacheStats } from '../../shared/prefix-cache.ts';
import { nameBlocks, wordsOf, type BlockKey } from './block-names.ts';
import { hashWords, type BlockHash } from './hash.ts';
import type { KvDatabase } from './kv-database.ts';
import { MemoryTier, type MemoryBlock } from './memory-tier.ts';
import { StoredTier } from './stored-tier.ts';

export interface KvCacheOptions {
  backend: Backend & { readonly kv: BackendKv };
  memoryBytes: number;
  /** Absent: nothing is stored. */
  stored?: { database: KvDatabase; budgetBytes: number };
  /** Milliseconds since the epoch. */
  now: () => number;
  /** @default {@link hashWords} */
  hash?: BlockHash;
}

/** Tokens of a sequence, of which the first `promptTokens` are its prompt. */
export interface CacheableTokens {
  tokens: readonly number[];
  promptTokens: number;
  /** The same request was looked up before, and begins again: neither its tokens nor its hits count in statistics. */
  isRepeat?: boolean;
}

/** Tokens whose KV a sequence was given, by where it came from. */
export interface Restored {
  memoryTokens: number;
  storedTokens: number;
}

/** A chain as {@link KvCache.chains} tells of it. */
export interface Chain {
  ids: readonly number[];
  memoryTokens: number;
  storedTokens: number;
  pinned: boolean;
}

const NOTHING: Restored = { memoryTokens: 0, storedTokens: 0 };
/** Bytes that are read and written at a time: what a background job may hold on to. */
const WRITE_BATCH_BYTES = 4 << 20;

/**
 * The KV blocks of one backend: found by content when a sequence begins, kept when it ends. Nothing here throws for the sake of the
 * cache: what does not work is computed instead.
 */
export class KvCache {
  readonly #options: KvCacheOptions;
  readonly #kv: BackendKv;
  readonly #scope: string;
  readonly #memory: MemoryTier<HeldKvBlock>;
  readonly #stored: StoredTier | undefined;
  readonly #pinned = new Map<string, number>();
  /** Ends when what was kept so far is in memory and on disk. */
  #background: Promise<void> = Promise.resolve();
  #isClosed = false;
  #lookups = 0;
  #promptTokens = 0;
  #restored: Restored = { ...NOTHING };
  #storageFault: string | undefined;

  constructor(options: KvCacheOptions) {
    const { backend, stored, now } = options;
    const { model } = backend.info;
    this.#options = options;
    this.#kv = backend.kv;
    this.#scope = hashWords(
      wordsOf(JSON.stringify([model.fingerprint, model.architecture, model.quantization, backend.kv.format])),
    );
    const isPinned = (name: string): boolean => this.#pinned.has(name);
    this.#memory = new MemoryTier({
      budgetBytes: options.memoryBytes,
      onDrop: (held) => this.#kv.release([held]),
      isPinned,
    });
    if (stored)
      this.#stored = new StoredTier({
        ...stored,
        scope: this.#scope,
        blockBytes: backend.kv.blockBytes,
        stateBytes: backend.kv.stateBytes ?? 0,
        now,
        isPinned,
      });
    this.#kv.onMemoryNeeded = () => this.#memory.evictOne();
  }

  /**
   * Gives an empty sequence the KV of as many of its tokens as are cached, all but one at most: the last one is computed, as something
   * has to be sampled from.
   */
  async restore(sequence: SequenceId, { tokens, promptTokens, isRepeat }: CacheableTokens): Promise<Restored> {
    if (!isRepeat) {
      this.#lookups += 1;
      this.#promptTokens += tokens.length;
    }
    const keys = this.#keysOf(tokens.slice(0, -1));
    const before = this.#memory.find(keys).length;
    const bytes = before < keys.length ? await this.#findStored(keys, before) : [];
    // Memory may have gone while the disk was read; what was read follows what there was then.
    const inMemory = this.#memory.find(keys.slice(0, before));
    const stored = inMemory.length === before ? bytes : [];
    const found = [...inMemory.map(({ held }) => held), ...stored];
    // Up to the last block that a sequence can go on from.
    const blocks = found.slice(0, found.findLastIndex((block) => this.#resumes(block)) + 1);
    if (blocks.length === 0 || this.#isClosed) return NOTHING;
    const given = tokens.slice(0, blocks.length * KV_BLOCK_TOKENS);
    const memoryBlocks = Math.min(inMemory.length, blocks.length);
    const held = await this.#kv.restore(sequence, given, blocks, Math.min(promptTokens, given.length));
    this.#add(keys, memoryBlocks, held.slice(memoryBlocks));
    const restored = {
      memoryTokens: memoryBlocks * KV_BLOCK_TOKENS,
      storedTokens: (blocks.length - memoryBlocks) * KV_BLOCK_TOKENS,
    };
    if (!isRepeat) {
      this.#restored.memoryTokens += restored.memoryTokens;
      this.#restored.storedTokens += restored.storedTokens;
    }
    return restored;
  }

  /** Keeps the KV of a sequence that is about to be closed: `tokens` are those it begins with, whose KV may still be in flight. */
  keep(sequence: SequenceId, tokens: readonly number[]): void {
    const length = Math.min(tokens.length, this.#options.backend.sequenceLength(sequence));
    const keys = this.#keysOf(tokens.slice(0, length));
    if (this.#isClosed || keys.length === 0) return;
    const from = this.#memory.find(keys).length;
    // Asked for now, as the caller closes the sequence, and in memory as soon as held, so that it can be given up where memory is needed.
    const holding = from < keys.length ? this.#kv.hold(sequence, from, keys.length) : Promise.resolve([]);
    const adding = holding.then((held) => this.#add(keys, from, held));
    adding.catch(() => undefined);
    this.#later(async () => {
      await adding;
      await this.#store(keys);
    });
  }

  /** Lets the beginning of these tokens go last. Gives the number of tokens that this keeps. */
  pin(tokens: readonly number[]): number {
    const keys = this.#keysOf(tokens);
    for (const { name } of keys) this.#pinned.set(name, (this.#pinned.get(name) ?? 0) + 1);
    return keys.length * KV_BLOCK_TOKENS;
  }

  unpin(tokens: readonly number[]): void {
    for (const { name } of this.#keysOf(tokens)) {
      const count = this.#pinned.get(name) ?? 0;
      if (count > 1) this.#pinned.set(name, count - 1);
      else this.#pinned.delete(name);
    }
  }

  /** Forgets everything, in IndexedDB for all models. */
  async clear(): Promise<void> {
    this.#memory.clear();
    this.#later(async () => {
      this.#memory.clear();
      await this.#stored?.clear();
    });
    await this.settled();
  }

  /** Resolves once all that was kept so far is in memory and, where there is room, on disk. */
  async settled(): Promise<void> {
    for (let seen; seen !== this.#background;) {
      seen = this.#background;
      await seen;
    }
  }

  /** Chains of this model, longest first. */
  async chains(): Promise<Chain[]> {
    const records = (await this.#orNothing(() => this.#stored?.list())) ?? new Map<string, never>();
    const byId = new Map([...records].map(([name, record]) => [record.id, { name, record }]));
    const chains = new Map<string, Chain>();
    const parents = new Set([...records.values()].map(({ parentId }) => parentId));
    for (const [name, record] of records) {
      if (parents.has(record.id)) continue;
      const ids: number[] = [];
      for (let at = byId.get(record.id); at; at = byId.get(at.record.parentId)) ids.unshift(...at.record.ids);
      chains.set(name, { ids, memoryTokens: 0, storedTokens: ids.length, pinned: this.#pinned.has(name) });
    }
    for (const end of this.#memory.ends()) {
      const ids: number[] = [];
      for (let at: MemoryBlock<HeldKvBlock> | undefined = end; at; at = at.parent) ids.unshift(...at.key.ids);
      const known = chains.get(end.key.name);
      const storedTokens = known?.storedTokens ?? 0;
      chains.set(end.key.name, {
        ids,
        memoryTokens: ids.length,
        storedTokens,
        pinned: this.#pinned.has(end.key.name),
      });
    }
    return [...chains.values()].sort((a, b) => b.ids.length - a.ids.length);
  }

  async stats(): Promise<PrefixCacheStats> {
    const records = await this.#orNothing(() => this.#stored?.list());
    const { memoryTokens, storedTokens } = this.#restored;
    const { blocks, bytes, evicted } = this.#memory;
    return {
      lookups: this.#lookups,
      promptTokens: this.#promptTokens,
      memoryTokens,
      storedTokens,
      ...(this.#promptTokens > 0 && { hitRate: (memoryTokens + storedTokens) / this.#promptTokens }),
      blockTokens: KV_BLOCK_TOKENS,
      bytesPerToken: this.#kv.blockBytes / KV_BLOCK_TOKENS,
      memory: { blocks, bytes, evicted },
      ...(this.#stored &&
        records && {
          stored: {
            blocks: records.size,
            bytes: [...records.values()].reduce((sum, record) => sum + record.bytes, 0),
            evicted: this.#stored.evicted,
            rejected: this.#stored.rejected,
          },
        }),
      ...(this.#storageFault !== undefined && { storageFault: this.#storageFault }),
    };
  }

  /** Finishes what is under way, and keeps nothing more. The backend may be disposed of afterwards. */
  async close(): Promise<void> {
    await this.settled();
    this.#isClosed = true;
    this.#kv.onMemoryNeeded = undefined;
    this.#memory.clear();
  }

  #keysOf(tokens: readonly number[]): BlockKey[] {
    return nameBlocks(this.#scope, tokens, this.#options.hash ?? hashWords);
  }

  /** Adds held blocks to a chain in memory; what finds no place there is released. */
  #add(keys: readonly BlockKey[], from: number, held: readonly HeldKvBlock[]): void {
    const chain = this.#memory.peek(keys.slice(0, from));
    let parent = chain.at(-1);
    let isLinked = chain.length === from && !this.#isClosed;
    for (const [index, block] of held.entries()) {
      const key = keys[from + index]!;
      const added = isLinked ? this.#memory.add(parent, key, block, block.bytes) : undefined;
      if (!added) this.#kv.release([block]);
      // The same block may have been added meanwhile, and what follows belongs there.
      parent = added ?? this.#memory.peek(keys.slice(0, from + index + 1))[from + index];
      isLinked &&= parent !== undefined;
    }
    this.#memory.trim();
  }

  #resumes(block: HeldKvBlock | Uint8Array): boolean {
    const { blockBytes, stateBytes = 0 } = this.#kv;
    if (block instanceof Uint8Array) return block.byteLength === blockBytes + stateBytes;
    return block.resumes !== false;
  }

  async #findStored(keys: readonly BlockKey[], from: number): Promise<Uint8Array<ArrayBuffer>[]> {
    return (await this.#orNothing(() => this.#stored?.find(keys, from))) ?? [];
  }

  /** Writes what of the chain is in memory and not on disk yet. */
  async #store(keys: readonly BlockKey[]): Promise<void> {
    await this.#orNothing(async () => {
      if (!this.#stored) return;
      const batch = Math.max(1, Math.floor(WRITE_BATCH_BYTES / this.#kv.blockBytes));
      let from = await this.#stored.touch(keys);
      while (from < keys.length) {
        const held = this.#memory.peek(keys).slice(from, from + batch);
        if (held.length === 0) return;
        const data = await this.#kv.read(held.map((block) => block.held));
        if (!(await this.#stored.put(keys, from, data))) return;
        from += held.length;
      }
    });
  }

  #later(work: () => Promise<void>): void {
    // A backend that is lost or disposed of fails what it still had to keep, and that is all there is to it.
    this.#background = this.#background.then(work).catch(() => undefined);
  }

  /** IndexedDB may be forbidden, full or gone at any time; the cache then does without. */
  async #orNothing<Result>(work: () => Promise<Result> | undefined): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.#storageFault = `${error.name}: ${error.message}`;
      return undefined;
    }
  }
}
