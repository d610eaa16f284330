import type { BackendInfo, BackendKv, HeldKvBlock, SequenceId } from '../backend.ts';
import { KV_BLOCK } from '../../blocks/attention/webgpu/attention.ts';
import type { SampleKernels } from './kernels/sample/sample-kernels.ts';
import type { GpuContext } from './device.ts';
import type { KvBlocks } from '../kv/kv-blocks.ts';
import type { KvMemory } from './kv-memory.ts';
import type { Sequences } from '../kv/sequences.ts';
import type { States } from './states.ts';

/** A block of the pool that outlives its sequence. */
interface PoolBlock extends HeldKvBlock {
  readonly block: number;
  /** Page of the state at its end, while that is kept. */
  page?: number | undefined;
}

export interface WebGpuKvParts {
  gpu: Pick<GpuContext, 'device'>;
  info: BackendInfo;
  sequences: Sequences;
  blocks: KvBlocks;
  kvMemory: KvMemory;
  kvFormat: string;
  sampler: Pick<SampleKernels, 'appendTokens'>;
  /** Absent in a model without state that is no KV. */
  states?: States;
  statePages?: KvBlocks;
  stateMemory?: KvMemory;
  history?: GPUBuffer;
}

/** KV by block: held and given to another sequence where it lies, without copying; bytes go through staging buffers. */
export class WebGpuKv implements BackendKv {
  readonly format: string;
  readonly blockBytes: number;
  readonly stateBytes: number;
  readonly #parts: WebGpuKvParts;
  readonly #check: () => void;
  readonly #held = new Set<PoolBlock>();

  /** @param check throws once the backend cannot be used any more */
  constructor(parts: WebGpuKvParts, check: () => void) {
    this.#parts = parts;
    this.#check = check;
    this.format = parts.kvFormat;
    this.blockBytes = parts.kvMemory.blockBytes;
    this.stateBytes = parts.stateMemory?.blockBytes ?? 0;
    if (parts.statePages) parts.statePages.onExhausted = () => this.#dropState();
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
    const { states } = this.#parts;
    const { blocks, length, states: own } = this.#parts.sequences.get(id);
    if (!(start >= 0 && start <= end && end * KV_BLOCK <= length))
      throw new RangeError(`Cannot hold blocks ${start} to ${end}: the sequence has ${length} tokens`);
    return this.#hold(
      blocks.slice(start, end),
      (index) => states && own && states.at(own, (start + index + 1) * KV_BLOCK),
    );
  }

  async read(blocks: readonly HeldKvBlock[]): Promise<Uint8Array<ArrayBuffer>[]> {
    this.#check();
    const { kvMemory, stateMemory } = this.#parts;
    const held = blocks.map((block) => this.#poolBlock(block));
    const reading = kvMemory.read(held.map(({ block }) => block));
    const paged = held.filter(({ page }) => page !== undefined);
    const [kv, states] = await Promise.all([reading, stateMemory?.read(paged.map(({ page }) => page!)) ?? []]);
    return held.map((block, index) => {
      const state = states[paged.indexOf(block)];
      return state ? concat(kv[index]!, state) : kv[index]!;
    });
  }

  release(blocks: readonly HeldKvBlock[]): void {
    for (const block of blocks) {
      const held = this.#poolBlock(block);
      this.#held.delete(held);
      this.#parts.blocks.give([held.block]);
      if (held.page !== undefined) this.#parts.statePages?.give([held.page]);
    }
  }

  async restore(
    id: SequenceId,
    tokens: readonly number[],
    given: readonly (HeldKvBlock | Uint8Array<ArrayBuffer>)[],
    promptTokens: number,
  ): Promise<HeldKvBlock[]> {
    this.#check();
    const { sequences, sampler, kvMemory, statePages, stateMemory } = this.#parts;
    const sequence = sequences.get(id);
    const held = given.filter((block): block is HeldKvBlock => !(block instanceof Uint8Array));
    const bytes = given.filter((block) => block instanceof Uint8Array);
    if (given.slice(0, held.length).some((block) => block instanceof Uint8Array))
      throw new RangeError('Cannot restore KV: bytes come after the blocks that are held');
    if (tokens.length !== given.length * KV_BLOCK)
      throw new RangeError(`Cannot restore KV: ${given.length} blocks, and ${tokens.length} token ids`);
    if (bytes.some(({ byteLength }) => !this.#isBlock(byteLength)))
      throw new RangeError(
        `Cannot restore KV: a block has not ${this.blockBytes} bytes, or as many and ${this.stateBytes} of state`,
      );
    const shared = held.map((block) => this.#poolBlock(block));
    const last = given.at(-1);
    const resumes =
      last === undefined || (last instanceof Uint8Array ? this.#hasState(last) : this.#poolBlock(last).resumes);
    if (!resumes) throw new RangeError('Cannot restore KV: the state at the end of the last block was not kept');
    for (const block of shared) this.#touch(block);
    // The sequence goes on from the last state; those before it are only kept for others, where there is room.
    const pages = bytes.map((block, index) =>
      this.#hasState(block)
        ? (this.#parts.states?.takeSpare() ?? (index === bytes.length - 1 ? statePages?.take() : undefined))
        : undefined,
    );
    const state = bytes.length > 0 ? pages.at(-1) : shared.at(-1)?.page;
    const taken = sequences.attach(
      sequence,
      shared.map(({ block }) => block),
      bytes.length,
      state,
    );
    this.#writeHistory(sequence.slot, tokens);
    sampler.appendTokens(sequence.slot, 0, tokens.slice(0, promptTokens), true);
    if (promptTokens < tokens.length)
      sampler.appendTokens(sequence.slot, promptTokens, tokens.slice(promptTokens), false);
    // Held from here on: the sequence may be closed while the bytes are on their way.
    const more = this.#hold(taken, (index) => pages[index]);
    statePages?.give(pages.filter((page) => page !== undefined));
    try {
      await Promise.all([
        kvMemory.write(
          taken,
          bytes.map((block) => block.subarray(0, this.blockBytes)),
        ),
        stateMemory?.write(
          pages.filter((page) => page !== undefined),
          bytes.filter((_, index) => pages[index] !== undefined).map((block) => block.subarray(this.blockBytes)),
        ),
      ]);
    } catch (error) {
      this.release(more);
      throw error;
    }
    return [...held, ...more];
  }

  #hold(blocks: readonly number[], pageOf: (index: number) => number | undefined): PoolBlock[] {
    const { statePages } = this.#parts;
    this.#parts.blocks.share(blocks);
    const held = blocks.map((block, index): PoolBlock => {
      const page = statePages && pageOf(index);
      if (page !== undefined) statePages!.share([page]);
      const [blockBytes, stateBytes] = [this.blockBytes, this.stateBytes];
      return {
        block,
        page,
        get resumes() {
          return stateBytes === 0 || this.page !== undefined;
        },
        get bytes() {
          return blockBytes + (this.page === undefined ? 0 : stateBytes);
        },
      };
    });
    for (const block of held) this.#held.add(block);
    return held;
  }

  /** The state that was not used for longest makes room; its block stays, and is of use to those that go on further. */
  #dropState(): boolean {
    for (const held of this.#held) {
      if (held.page === undefined) continue;
      this.#parts.statePages!.give([held.page]);
      held.page = undefined;
      return true;
    }
    return false;
  }

  #touch(block: PoolBlock): void {
    this.#held.delete(block);
    this.#held.add(block);
  }

  #isBlock(bytes: number): boolean {
    return bytes === this.blockBytes || bytes === this.blockBytes + this.stateBytes;
  }

  #hasState({ byteLength }: Uint8Array): boolean {
    return byteLength === this.blockBytes + this.stateBytes;
  }

  /** Tokens that may have to be run again after a truncation. */
  #writeHistory(slot: number, tokens: readonly number[]): void {
    const { history, info, gpu } = this.#parts;
    if (history) gpu.device.queue.writeBuffer(history, slot * info.model.contextTokens * 4, Uint32Array.from(tokens));
  }

  #poolBlock(block: HeldKvBlock): PoolBlock {
    if (!this.#held.has(block as PoolBlock)) throw new RangeError('Cannot use a KV block that is not held');
    return block as PoolBlock;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
