import { sameIds, type BlockKey } from './block-names.ts';

/** A block in memory. Its place in the tree, not its name, says which tokens it follows. */
export interface MemoryBlock<Held> {
  readonly key: BlockKey;
  /** Absent for the first block of a chain. */
  readonly parent: MemoryBlock<Held> | undefined;
  readonly children: Map<string, MemoryBlock<Held>>;
  readonly held: Held;
  readonly bytes: number;
  /** Order of the last use; that of a parent is never below that of its children. */
  usedAt: number;
}

export interface MemoryTierOptions<Held> {
  /** Bytes of all blocks together. */
  budgetBytes: number;
  /** A block was evicted or the tier cleared. */
  onDrop: (held: Held) => void;
  /** True for a block that goes last. @default none */
  isPinned?: (name: string) => boolean;
}

/** Blocks in memory: a tree of chains, of which the least recently used is shortened from its end when room is needed. */
export class MemoryTier<Held> {
  readonly #options: MemoryTierOptions<Held>;
  readonly #roots = new Map<string, MemoryBlock<Held>>();
  readonly #all = new Set<MemoryBlock<Held>>();
  #bytes = 0;
  #clock = 0;
  #evicted = 0;

  constructor(options: MemoryTierOptions<Held>) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get blocks(): number {
    return this.#all.size;
  }

  /** Blocks given up for want of room, so far. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Blocks that no other follows: each is the end of a chain. */
  ends(): MemoryBlock<Held>[] {
    return [...this.#all].filter(({ children }) => children.size === 0);
  }

  /** The blocks of the longest known beginning of a chain; they count as used now. */
  find(keys: readonly BlockKey[]): MemoryBlock<Held>[] {
    const found = this.peek(keys);
    const now = ++this.#clock;
    for (const block of found) block.usedAt = now;
    return found;
  }

  /** {@link find} that leaves the order of use as it is. */
  peek(keys: readonly BlockKey[]): MemoryBlock<Held>[] {
    const found: MemoryBlock<Held>[] = [];
    for (const key of keys) {
      const block = (found.at(-1)?.children ?? this.#roots).get(key.name);
      if (!block || !sameIds(block.key.ids, key.ids)) break;
      found.push(block);
    }
    return found;
  }

  /**
   * Adds a block after `parent`. Gives nothing, and leaves `held` to the caller, if that place is taken (by the same block, or by one whose name
   * collides).
   */
  add(parent: MemoryBlock<Held> | undefined, key: BlockKey, held: Held, bytes: number): MemoryBlock<Held> | undefined {
    const siblings = parent?.children ?? this.#roots;
    if (siblings.has(key.name) || (parent && !this.#all.has(parent))) return undefined;
    const block = { key, parent, children: new Map<string, MemoryBlock<Held>>(), held, bytes, usedAt: ++this.#clock };
    for (let above = parent; above; above = above.parent) above.usedAt = block.usedAt;
    siblings.set(key.name, block);
    this.#all.add(block);
    this.#bytes += bytes;
    return block;
  }

  /** Evicts until the budget is kept. */
  trim(): void {
    if (this.#bytes > this.#options.budgetBytes) this.#evict(() => this.#bytes <= this.#options.budgetBytes);
  }

  /** Evicts the end of the least recently used chain; false if there is none. */
  evictOne(): boolean {
    const before = this.#all.size;
    this.#evict(() => this.#all.size < before);
    return this.#all.size < before;
  }

  clear(): void {
    for (const { held } of this.#all) this.#options.onDrop(held);
    this.#all.clear();
    this.#roots.clear();
    this.#bytes = 0;
  }

  /** A chain is used as a whole, so in the order of use its end comes first, and no block goes before those that follow it. */
  #evict(isEnough: () => boolean): void {
    const { isPinned = () => false } = this.#options;
    const order = [...this.#all]
      .map((block) => ({ block, depth: depthOf(block), pinned: isPinned(block.key.name) ? 1 : 0 }))
      .sort((a, b) => a.pinned - b.pinned || a.block.usedAt - b.block.usedAt || b.depth - a.depth);
    for (const { block } of order) {
      if (isEnough()) return;
      if (this.#all.has(block)) this.#remove(block);
    }
  }

  /** With what follows it: there is nothing more to find there. */
  #remove(block: MemoryBlock<Held>): void {
    for (const child of [...block.children.values()]) this.#remove(child);
    this.#evicted += 1;
    (block.parent?.children ?? this.#roots).delete(block.key.name);
    this.#all.delete(block);
    this.#bytes -= block.bytes;
    this.#options.onDrop(block.held);
  }
}

function depthOf<Held>(block: MemoryBlock<Held>): number {
  let depth = 0;
  for (let above = block.parent; above; above = above.parent) depth += 1;
  return depth;
}
