import { KV_BLOCK_TOKENS, type BackendKv, type HeldKvBlock, type SequenceId } from '../../backends/backend.ts';

interface FakeBlock extends HeldKvBlock {
  data: Uint8Array<ArrayBuffer>;
}

/** Bytes of a block: a hash of all tokens before it, and its own tokens. */
const WORDS = 1 + KV_BLOCK_TOKENS;

/**
 * The KV of a FakeBackend. What a restored sequence holds is read from the bytes of its blocks, and bytes that were computed after other tokens
 * than they are restored after give other tokens: as with real KV, a mistake shows in the answer and nowhere else.
 */
export class FakeKv implements BackendKv {
  readonly format = 'fake';
  readonly blockBytes = WORDS * 4;
  onMemoryNeeded?: (() => boolean) | undefined;
  /** Blocks held and not released. */
  readonly held = new Set<HeldKvBlock>();
  readonly #sequence: (id: SequenceId) => { tokens: number[]; promptLength: number };
  readonly #reserve: (id: SequenceId, tokens: number) => boolean;

  constructor(
    sequence: (id: SequenceId) => { tokens: number[]; promptLength: number },
    reserve: (id: SequenceId, tokens: number) => boolean,
  ) {
    this.#sequence = sequence;
    this.#reserve = reserve;
  }

  hold(id: SequenceId, start: number, end: number): Promise<HeldKvBlock[]> {
    const { tokens } = this.#sequence(id);
    if (end * KV_BLOCK_TOKENS > tokens.length)
      return Promise.reject(new RangeError(`Cannot hold ${end} blocks: the sequence has ${tokens.length} tokens`));
    const blocks = Array.from({ length: end - start }, (_, index) => this.#hold(blockOf(tokens, start + index)));
    return Promise.resolve(blocks);
  }

  read(blocks: readonly HeldKvBlock[]): Promise<Uint8Array<ArrayBuffer>[]> {
    if (blocks.some((block) => !this.held.has(block)))
      return Promise.reject(new RangeError('Cannot read a block that is not held'));
    return Promise.resolve(blocks.map((block) => (block as FakeBlock).data));
  }

  release(blocks: readonly HeldKvBlock[]): void {
    for (const block of blocks)
      if (!this.held.delete(block)) throw new RangeError('Cannot release a block that is not held');
  }

  restore(
    id: SequenceId,
    tokens: readonly number[],
    blocks: readonly (HeldKvBlock | Uint8Array<ArrayBuffer>)[],
    promptTokens: number,
  ): Promise<HeldKvBlock[]> {
    const sequence = this.#sequence(id);
    if (sequence.tokens.length > 0 || tokens.length !== blocks.length * KV_BLOCK_TOKENS)
      return Promise.reject(new RangeError('Cannot restore: the sequence is not empty, or blocks and tokens differ'));
    if (blocks.some((block) => block instanceof Uint8Array && block.byteLength !== this.blockBytes))
      return Promise.reject(new RangeError('Cannot restore: a block has another length'));
    if (!this.#reserve(id, tokens.length)) return Promise.reject(new RangeError('Cannot restore: there is no room'));
    const held = blocks.map((block) => (block instanceof Uint8Array ? this.#hold(block) : block));
    for (const block of held) {
      if (!this.held.has(block)) return Promise.reject(new RangeError('Cannot restore a block that is not held'));
      const words = new Uint32Array((block as FakeBlock).data.slice().buffer);
      const wrong = words[0] === historyHash(sequence.tokens) ? 0 : 1;
      for (const token of words.subarray(1)) sequence.tokens.push(token ^ wrong);
    }
    sequence.promptLength = promptTokens;
    return Promise.resolve(held);
  }

  #hold(data: Uint8Array<ArrayBuffer>): FakeBlock {
    const block = { bytes: data.byteLength, data };
    this.held.add(block);
    return block;
  }
}

function blockOf(tokens: readonly number[], index: number): Uint8Array<ArrayBuffer> {
  const start = index * KV_BLOCK_TOKENS;
  const own = tokens.slice(start, start + KV_BLOCK_TOKENS);
  return new Uint8Array(Uint32Array.of(historyHash(tokens.slice(0, start)), ...own).buffer);
}

const historyHash = (tokens: readonly number[]): number =>
  tokens.reduce((hash, token) => Math.imul(hash ^ token, 0x01000193) >>> 0, 0x811c9dc5);
