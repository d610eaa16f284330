import { KV_BLOCK_TOKENS, type BackendKv, type HeldKvBlock, type SequenceId } from '../backend.ts';
import type { KvBlocks } from '../kv/kv-blocks.ts';
import type { Sequences } from '../kv/sequences.ts';

/** A block of the pool that outlives its sequence. */
interface PoolBlock extends HeldKvBlock {
  readonly block: number;
}

/** Bytes of the blocks of a pool, in the order of the steps. */
export interface PoolMemory {
  /** Bytes of a block, all layers. */
  readonly blockBytes: number;
  /** Bytes as they are after what was given before the call, which may give the blocks away at once. */
  read(blocks: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]>;
  write(blocks: readonly number[], data: readonly Uint8Array<ArrayBuffer>[]): Promise<void>;
}

export interface WasmKvParts {
  sequences: Sequences;
  blocks: KvBlocks;
  kvMemory: PoolMemory;
  /** {@link BackendKv.format} */
  kvFormat: string;
  /** Counts tokens for penalties. */
  sampler: { appendTokens(slot: number, position: number, ids: readonly number[], isPrompt: boolean): void };
}

/** KV by block: held and given to another sequence where it lies, without copying. */
export class WasmKv implements BackendKv {
  readonly format: string;
  readonly blockBytes: number;
  readonly #parts: WasmKvParts;
  readonly #check: () => void;
  readonly #held = new Set<PoolBlock>();

  /** @param check throws once the backend cannot be used any more */
  constructor(parts: WasmKvParts, check: () => void) {
    this.#parts = parts;
    this.#check = check;
    this.format = parts.kvFormat;
    this.blockBytes = parts.kvMemory.blockBytes;
  }

  get onMemoryNeeded(): (() => boolean) | undefined {
    return this.#parts.blocks.onExhausted;
  }

  set onMemoryNeeded(listener: (() => boolean) | undefined) {
    this.#parts.blocks.onExhausted = listener;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- so that a wrong range rejects
  async hold(id: SequenceId, start: number, end: number): Promise<HeldKvBlock[]> {
    this.#check();
    const { blocks, length } = this.#parts.sequences.get(id);
    if (!(start >= 0 && start <= end && end * KV_BLOCK_TOKENS <= length))
      throw new RangeError(`Cannot hold blocks ${start} to ${end}: the sequence has ${length} tokens`);
    return this.#hold(blocks.slice(start, end));
  }

  async read(blocks: readonly HeldKvBlock[]): Promise<Uint8Array<ArrayBuffer>[]> {
    this.#check();
    return this.#parts.kvMemory.read(blocks.map((block) => this.#poolBlock(block)));
  }

  release(blocks: readonly HeldKvBlock[]): void {
    for (const block of blocks) {
      const index = this.#poolBlock(block);
      this.#held.delete(block as PoolBlock);
      this.#parts.blocks.give([index]);
    }
  }

  async restore(
    id: SequenceId,
    tokens: readonly number[],
    given: readonly (HeldKvBlock | Uint8Array<ArrayBuffer>)[],
    promptTokens: number,
  ): Promise<HeldKvBlock[]> {
    this.#check();
    const { sequences, sampler, kvMemory } = this.#parts;
    const sequence = sequences.get(id);
    const held = given.filter((block): block is HeldKvBlock => !(block instanceof Uint8Array));
    const bytes = given.filter((block) => block instanceof Uint8Array);
    if (given.slice(0, held.length).some((block) => block instanceof Uint8Array))
      throw new RangeError('Cannot restore KV: bytes come after the blocks that are held');
    if (tokens.length !== given.length * KV_BLOCK_TOKENS)
      throw new RangeError(`Cannot restore KV: ${given.length} blocks, and ${tokens.length} token ids`);
    if (bytes.some(({ byteLength }) => byteLength !== this.blockBytes))
      throw new RangeError(`Cannot restore KV: a block has not ${this.blockBytes} bytes`);
    const shared = held.map((block) => this.#poolBlock(block));
    const taken = sequences.attach(sequence, shared, bytes.length);
    sampler.appendTokens(sequence.slot, 0, tokens.slice(0, promptTokens), true);
    if (promptTokens < tokens.length)
      sampler.appendTokens(sequence.slot, promptTokens, tokens.slice(promptTokens), false);
    // Held from here on: the sequence may be closed while the bytes are on their way.
    const more = this.#hold(taken);
    try {
      await kvMemory.write(taken, bytes);
    } catch (error) {
      this.release(more);
      throw error;
    }
    return [...held, ...more];
  }

  #hold(blocks: readonly number[]): PoolBlock[] {
    this.#parts.blocks.share(blocks);
    const held = blocks.map((block) => ({ block, bytes: this.blockBytes }));
    for (const block of held) this.#held.add(block);
    return held;
  }

  #poolBlock(block: HeldKvBlock): number {
    if (!this.#held.has(block as PoolBlock)) throw new RangeError('Cannot use a KV block that is not held');
    return (block as PoolBlock).block;
  }
}
