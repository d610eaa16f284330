import { KV_BLOCK_TOKENS } from '../../backends/backend.ts';

/** What the pool knows of a sequence. */
interface PooledSequence {
  readonly tokens: readonly number[];
  /** Blocks that it has, set aside or written. */
  blocks: number;
}

/** The KV memory of a FakeBackend: counts the blocks of sequences and those that are only kept, which are never the same block here. */
export class FakePool {
  readonly #totalBlocks: number;
  readonly #sequences: () => Iterable<PooledSequence>;
  readonly #kept: () => { blocks: number; giveUp: () => boolean };

  constructor(
    kvTokens: number,
    sequences: () => Iterable<PooledSequence>,
    kept: () => { blocks: number; giveUp: () => boolean },
  ) {
    this.#totalBlocks = kvTokens === Infinity ? Infinity : Math.ceil(kvTokens / KV_BLOCK_TOKENS);
    this.#sequences = sequences;
    this.#kept = kept;
  }

  /** Blocks that sequences have. */
  get usedBlocks(): number {
    let used = 0;
    for (const { blocks } of this.#sequences()) used += blocks;
    return used;
  }

  /** Room for `tokens` after those that the sequence has; false, and nothing is changed, if there is none. */
  reserve(sequence: PooledSequence, tokens: number): boolean {
    const blocks = Math.max(sequence.blocks, Math.ceil((sequence.tokens.length + tokens) / KV_BLOCK_TOKENS));
    const missing = (): number => this.usedBlocks - sequence.blocks + blocks + this.#kept().blocks - this.#totalBlocks;
    while (missing() > 0 && this.#kept().giveUp());
    if (blocks > sequence.blocks && missing() > 0) return false;
    sequence.blocks = blocks;
    return true;
  }

  /** After a truncation. */
  trim(sequence: PooledSequence): void {
    sequence.blocks = Math.ceil(sequence.tokens.length / KV_BLOCK_TOKENS);
  }
}
