import { STEP_WORDS, packStepRow, type SampleRow } from './kernels/sample/layout.ts';

/** What is different from step to step, in one buffer that one write fills. Offsets in u32 words. */
export interface StepLayout {
  /** Word 0: rows; 1: tokens of a split; 2: splits; 3: rows that attend one by one; from 16 on: row of x behind each row of logits. */
  gatherAt: 16;
  /** [maxSamples] of {@link STEP_WORDS}: what each row of logits is for. 256-byte aligned, as a binding begins here. */
  samplesAt: number;
  /** [maxStepTokens, 4]: token (or slot of the latest one, with the highest bit set), position, slot, 0. */
  rowsAt: number;
  /** [maxStepTokens, 2]: first row and rows of each attention tile. */
  tilesAt: number;
  /** [slots, maxBlocks]: KV block ids of each sequence. */
  tablesAt: number;
  maxBlocks: number;
  words: number;
}

export interface StepSizes {
  /** Rows of logits of a step. */
  maxSamples: number;
  maxStepTokens: number;
  slots: number;
  /** KV blocks of a sequence at most. */
  maxBlocks: number;
}

export function stepLayout({ maxSamples, maxStepTokens, slots, maxBlocks }: StepSizes): StepLayout {
  const align = (words: number) => Math.ceil(words / 64) * 64;
  const samplesAt = align(16 + maxSamples);
  const rowsAt = align(samplesAt + maxSamples * STEP_WORDS);
  const tilesAt = rowsAt + maxStepTokens * 4;
  const tablesAt = tilesAt + maxStepTokens * 2;
  return { gatherAt: 16, samplesAt, rowsAt, tilesAt, tablesAt, maxBlocks, words: tablesAt + slots * maxBlocks };
}

/** Highest bit of a row's token: the rest is the slot whose latest token is meant. */
const FROM_SLOT = 0x80000000;

/** One token row of a step. */
export interface TokenRow {
  token: number | 'previous';
  position: number;
  slot: number;
}

/** The step buffer's content on the CPU, and how much of it has to be written. */
export class StepWriter {
  readonly #layout: StepLayout;
  readonly #words: Uint32Array<ArrayBuffer>;
  #tablesDirty = true;

  constructor(layout: StepLayout) {
    this.#layout = layout;
    this.#words = new Uint32Array(layout.words);
  }

  setHeader(rows: number, splitTokens: number, splits: number, singles: number): void {
    this.#words[0] = rows;
    this.#words[1] = splitTokens;
    this.#words[2] = splits;
    this.#words[3] = singles;
  }

  setRow(row: number, { token, position, slot }: TokenRow): void {
    const at = this.#layout.rowsAt + row * 4;
    this.#words[at] = token === 'previous' ? (FROM_SLOT | slot) >>> 0 : token;
    this.#words[at + 1] = position;
    this.#words[at + 2] = slot;
  }

  setSample(index: number, row: number, sample: SampleRow): void {
    this.#words[this.#layout.gatherAt + index] = row;
    packStepRow(this.#words, this.#layout.samplesAt + index * STEP_WORDS, sample);
  }

  setTile(index: number, firstRow: number, rows: number): void {
    this.#words[this.#layout.tilesAt + index * 2] = firstRow;
    this.#words[this.#layout.tilesAt + index * 2 + 1] = rows;
  }

  setBlock(slot: number, index: number, block: number): void {
    this.#words[this.#layout.tablesAt + slot * this.#layout.maxBlocks + index] = block;
    this.#tablesDirty = true;
  }

  /** Writes what a step of `rows` rows and `tiles` tiles needs: one call, and block tables only when they changed. */
  write(queue: GPUQueue, buffer: GPUBuffer, rows: number, tiles: number): void {
    const { rowsAt, tilesAt, words } = this.#layout;
    let end = rowsAt + rows * 4;
    if (tiles > 0) end = tilesAt + tiles * 2;
    if (this.#tablesDirty) end = words;
    this.#tablesDirty = false;
    queue.writeBuffer(buffer, 0, this.#words, 0, end);
  }
}
