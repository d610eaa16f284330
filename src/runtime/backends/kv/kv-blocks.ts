import { TokenglassError } from '../../../shared/errors.ts';
import { KV_BLOCK_TOKENS } from '../backend.ts';

/** Which KV blocks of the pool are in use, and by how many. Blocks are taken lowest first, so that equal histories give equal tables. */
export class KvBlocks {
  /** Called when no block is free: gives up one or more that are only kept for later, or tells that there are none. */
  onExhausted: (() => boolean) | undefined;
  readonly #free: number[];
  /** By block: sequences and holders that use it. */
  readonly #users: Uint32Array;

  constructor(total: number) {
    this.#users = new Uint32Array(total);
    this.#free = Array.from({ length: total }, (_, i) => total - 1 - i);
  }

  get freeBlocks(): number {
    return this.#free.length;
  }

  /** Sees to it that `count` blocks are free, giving up what is only kept for later; false where that does not suffice. */
  makeRoom(count: number): boolean {
    while (this.#free.length < count && this.onExhausted?.());
    return this.#free.length >= count;
  }

  /** @throws TokenglassError `context-overflow` when the pool is used up */
  take(): number {
    this.makeRoom(1);
    const block = this.#free.pop();
    if (block === undefined) {
      const kvTokens = this.#users.length * KV_BLOCK_TOKENS;
      throw new TokenglassError(
        'context-overflow',
        `Cannot go on: all ${kvTokens} tokens of KV are in use; close a sequence`,
        { details: { kvTokens } },
      );
    }
    this.#users[block] = 1;
    return block;
  }

  /** One more uses these blocks, which are in use; whoever writes to one that is shared takes a copy of it first. */
  share(blocks: readonly number[]): void {
    for (const block of blocks) this.#users[block]! += 1;
  }

  isShared(block: number): boolean {
    return this.#users[block]! > 1;
  }

  /** One less uses these blocks; free is what nobody uses. */
  give(blocks: readonly number[]): void {
    for (let i = blocks.length - 1; i >= 0; i--) {
      const block = blocks[i]!;
      this.#users[block]! -= 1;
      if (this.#users[block] === 0) this.#free.push(block);
    }
  }
}
