import { TokenglassError } from '../../../shared/errors.ts';
import { KV_BLOCK } from './kernels/attention/attention.ts';

/** Which KV blocks of the pool are free. Blocks are taken lowest first, so that equal histories give equal tables. */
export class KvBlocks {
  readonly #free: number[];
  readonly #total: number;

  constructor(total: number) {
    this.#total = total;
    this.#free = Array.from({ length: total }, (_, i) => total - 1 - i);
  }

  get freeBlocks(): number {
    return this.#free.length;
  }

  /** @throws TokenglassError `context-overflow` when the pool is used up */
  take(): number {
    const block = this.#free.pop();
    if (block === undefined) {
      throw new TokenglassError(
        'context-overflow',
        `Cannot go on: all ${this.#total * KV_BLOCK} tokens of KV are in use; close a sequence`,
        { details: { kvTokens: this.#total * KV_BLOCK } },
      );
    }
    return block;
  }

  give(blocks: readonly number[]): void {
    for (let i = blocks.length - 1; i >= 0; i--) this.#free.push(blocks[i]!);
  }
}
