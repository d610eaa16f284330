import { TokenglassError } from '../../../shared/errors.ts';
import { KV_BLOCK_TOKENS, type SequenceId, type SequenceOptions } from '../backend.ts';
import type { KvBlocks } from './kv-blocks.ts';
import type { SequenceStates, States } from '../webgpu/states.ts';

/** An open sequence. */
export interface Sequence {
  readonly id: SequenceId;
  /** Where its parameters, block table and latest token are on the device. */
  readonly slot: number;
  readonly logprobs: number;
  /** Tokens whose KV it holds, steps in flight included. */
  length: number;
  /** KV blocks in order. */
  readonly blocks: number[];
  /** Absent in a model without state that is no KV. */
  readonly states?: SequenceStates;
  /** A step of it has sampled a token, so `'previous'` means something. */
  hasSampled: boolean;
  /** The token that was sampled last and has come back. */
  lastToken?: number;
}

/** Where kernels find the KV blocks of each sequence. */
export interface BlockTables {
  setBlock(slot: number, index: number, block: number): void;
}

/** Copies a block's keys and values, all layers, to another block, after the steps already submitted. */
export type CopyBlock = (from: number, to: number) => void;

/** Open sequences, their slots and their KV blocks. */
export class Sequences {
  readonly #blocks: KvBlocks;
  readonly #tables: BlockTables;
  readonly #copyBlock: CopyBlock;
  readonly #contextTokens: number;
  readonly #states: States | undefined;
  readonly #freeSlots: number[];
  readonly #open = new Map<SequenceId, Sequence>();
  #nextId = 1;

  constructor(
    blocks: KvBlocks,
    tables: BlockTables,
    copyBlock: CopyBlock,
    sizes: { contextTokens: number; slots: number },
    states?: States,
  ) {
    this.#states = states;
    this.#blocks = blocks;
    this.#tables = tables;
    this.#copyBlock = copyBlock;
    this.#contextTokens = sizes.contextTokens;
    this.#freeSlots = Array.from({ length: sizes.slots }, (_, i) => sizes.slots - 1 - i);
  }

  /** @throws TokenglassError `unsupported` when all slots are in use */
  open({ logprobs }: SequenceOptions): Sequence {
    const slot = this.#freeSlots.pop();
    if (slot === undefined) {
      throw new TokenglassError('unsupported', `Cannot open a sequence: ${this.#open.size} are open; close one`, {
        details: { openSequences: this.#open.size },
      });
    }
    const sequence: Sequence = {
      id: this.#nextId++,
      slot,
      logprobs,
      length: 0,
      blocks: [],
      ...(this.#states && { states: this.#states.open() }),
      hasSampled: false,
    };
    this.#open.set(sequence.id, sequence);
    return sequence;
  }

  close(id: SequenceId): void {
    const sequence = this.#open.get(id);
    if (!sequence) return;
    this.#open.delete(id);
    this.#blocks.give(sequence.blocks);
    if (sequence.states) this.#states?.close(sequence.states);
    this.#freeSlots.push(sequence.slot);
  }

  /** A sampled token has come back; the sequence may be closed by then. */
  noteSampled(id: SequenceId, token: number): void {
    const sequence = this.#open.get(id);
    if (sequence) sequence.lastToken = token;
  }

  /** @throws RangeError for one that is not open */
  get(id: SequenceId): Sequence {
    const sequence = this.#open.get(id);
    if (!sequence) throw new RangeError(`Cannot use sequence ${id}: it is not open`);
    return sequence;
  }

  /**
   * Makes room for `tokens` more. @throws TokenglassError `context-overflow`; the sequence is then as before
   */
  reserve(sequence: Sequence, tokens: number): void {
    const length = sequence.length + tokens;
    if (length > this.#contextTokens) {
      throw new TokenglassError(
        'context-overflow',
        `Cannot go on: ${length} tokens are more than the context of ${this.#contextTokens}; shorten the prompt`,
        { details: { tokens: length, contextTokens: this.#contextTokens } },
      );
    }
    for (let block = this.#firstWritten(sequence); block < sequence.blocks.length; block++)
      this.#ownBlock(sequence, block);
    while (sequence.blocks.length * KV_BLOCK_TOKENS < length) this.#append(sequence, this.#blocks.take());
  }

  /** {@link reserve} if there is room; false, and nothing was changed, if others leave none. @throws RangeError past the context */
  tryReserve(sequence: Sequence, tokens: number): boolean {
    const length = sequence.length + tokens;
    if (!(Number.isInteger(tokens) && tokens >= 0 && length <= this.#contextTokens))
      throw new RangeError(
        `Cannot set aside ${tokens} tokens of KV: the sequence has ${sequence.length} of ${this.#contextTokens}`,
      );
    const written = sequence.blocks.slice(this.#firstWritten(sequence));
    const copies = written.filter((block) => this.#blocks.isShared(block)).length;
    const missing = Math.ceil(length / KV_BLOCK_TOKENS) - sequence.blocks.length;
    if (tokens === 0) return true;
    if (!this.#blocks.makeRoom(Math.max(0, missing) + copies)) return false;
    this.reserve(sequence, tokens);
    return true;
  }

  /**
   * Gives an empty sequence whole blocks that others use too, and `more` new ones after them, whose content the caller writes. It then
   * has as many tokens as fit in all of them. @param state page that other sequences may use too. @returns the new blocks
   * @throws TokenglassError `context-overflow`; the sequence is then as before
   */
  attach(sequence: Sequence, shared: readonly number[], more: number, state?: number): number[] {
    const length = (shared.length + more) * KV_BLOCK_TOKENS;
    if (length > this.#contextTokens || sequence.length > 0 || sequence.blocks.length > 0)
      throw new RangeError(
        `Cannot give a sequence ${length} tokens: it has ${sequence.length}, or the context is less`,
      );
    // Shared first: what is needed for the others may be taken from whoever else keeps these.
    this.#blocks.share(shared);
    for (const block of shared) this.#append(sequence, block);
    try {
      const taken = Array.from({ length: more }, () => {
        const block = this.#blocks.take();
        this.#append(sequence, block);
        return block;
      });
      sequence.length = length;
      if (sequence.states && state !== undefined) this.#states?.attach(sequence.states, length, state);
      return taken;
    } catch (error) {
      this.#blocks.give(sequence.blocks.splice(0));
      throw error;
    }
  }

  #append(sequence: Sequence, block: number): void {
    this.#tables.setBlock(sequence.slot, sequence.blocks.length, block);
    sequence.blocks.push(block);
  }

  /** The first block that the next step writes to: where it begins to run tokens. */
  #firstWritten({ length, states }: Sequence): number {
    const again = states && this.#states ? this.#states.behind(states, length) : 0;
    return Math.floor((length - again) / KV_BLOCK_TOKENS);
  }

  /** After a truncation into a block that others use, the next tokens go to a copy of it. */
  #ownBlock(sequence: Sequence, index: number): void {
    const shared = sequence.blocks[index]!;
    if (!this.#blocks.isShared(shared)) return;
    const own = this.#blocks.take();
    this.#copyBlock(shared, own);
    sequence.blocks[index] = own;
    this.#tables.setBlock(sequence.slot, index, own);
    this.#blocks.give([shared]);
  }

  /** Forgets tokens from `length` on. @throws RangeError above the current length */
  truncate(sequence: Sequence, length: number): void {
    if (!(Number.isInteger(length) && length >= 0 && length <= sequence.length)) {
      throw new RangeError(`Cannot truncate to ${length} tokens: the sequence has ${sequence.length}`);
    }
    sequence.length = length;
    if (sequence.states) this.#states?.truncate(sequence.states, length);
    this.#blocks.give(sequence.blocks.splice(Math.ceil(length / KV_BLOCK_TOKENS)));
  }
}
