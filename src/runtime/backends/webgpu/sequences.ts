import { TokenglassError } from '../../../shared/errors.ts';
import type { SequenceId, SequenceOptions } from '../backend.ts';
import { KV_BLOCK } from './kernels/attention/attention.ts';
import type { KvBlocks } from './kv-blocks.ts';
import type { StepWriter } from './step-layout.ts';

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
  /** A step of it has sampled a token, so `'previous'` means something. */
  hasSampled: boolean;
}

/** Open sequences, their slots and their KV blocks. */
export class Sequences {
  readonly #blocks: KvBlocks;
  readonly #writer: StepWriter;
  readonly #contextTokens: number;
  readonly #freeSlots: number[];
  readonly #open = new Map<SequenceId, Sequence>();
  #nextId = 1;

  constructor(blocks: KvBlocks, writer: StepWriter, sizes: { contextTokens: number; slots: number }) {
    this.#blocks = blocks;
    this.#writer = writer;
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
    const sequence: Sequence = { id: this.#nextId++, slot, logprobs, length: 0, blocks: [], hasSampled: false };
    this.#open.set(sequence.id, sequence);
    return sequence;
  }

  close(id: SequenceId): void {
    const sequence = this.#open.get(id);
    if (!sequence) return;
    this.#open.delete(id);
    this.#blocks.give(sequence.blocks);
    this.#freeSlots.push(sequence.slot);
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
    while (sequence.blocks.length * KV_BLOCK < length) {
      const block = this.#blocks.take();
      this.#writer.setBlock(sequence.slot, sequence.blocks.length, block);
      sequence.blocks.push(block);
    }
  }

  /** Forgets tokens from `length` on. @throws RangeError above the current length */
  truncate(sequence: Sequence, length: number): void {
    if (!(Number.isInteger(length) && length >= 0 && length <= sequence.length)) {
      throw new RangeError(`Cannot truncate to ${length} tokens: the sequence has ${sequence.length}`);
    }
    sequence.length = length;
    this.#blocks.give(sequence.blocks.splice(Math.ceil(length / KV_BLOCK)));
  }
}
