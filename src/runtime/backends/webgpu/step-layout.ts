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
  /** [maxRuns, {@link RUN_WORDS}]: rows of each sequence of the step, and where its state comes from and goes to. */
  runsAt: number;
  /** [slots, maxBlocks]: page that keeps the state at the end of each KV block, 0: none does. Of no words where a model has no such state. */
  marksAt: number;
  words: number;
}

/** Words of a run: first row, rows, position of the first, slot, page to read, page to write. */
export const RUN_WORDS = 8;

export interface StepSizes {
  /** Rows of logits of a step. */
  maxSamples: number;
  maxStepTokens: number;
  slots: number;
  /** KV blocks of a sequence at most. */
  maxBlocks: number;
  /** Sequences of a step at most, in a model with state that is no KV. @default 0 */
  maxRuns?: number;
}

export function stepLayout({ maxSamples, maxStepTokens, slots, maxBlocks, maxRuns = 0 }: StepSizes): StepLayout {
  const align = (words: number) => Math.ceil(words / 64) * 64;
  const samplesAt = align(16 + maxSamples);
  const rowsAt = align(samplesAt + maxSamples * STEP_WORDS);
  const tilesAt = rowsAt + maxStepTokens * 4;
  const runsAt = tilesAt + maxStepTokens * 2;
  const tablesAt = runsAt + maxRuns * RUN_WORDS;
  const marksAt = tablesAt + slots * maxBlocks;
  const words = marksAt + (maxRuns > 0 ? slots * maxBlocks : 0);
  return { gatherAt: 16, samplesAt, rowsAt, tilesAt, runsAt, tablesAt, marksAt, maxBlocks, words };
}

/** Highest bit of a row's token: the rest is the slot whose latest token is meant. */
const FROM_SLOT = 0x80000000;
/** The bit below: the token is the one that the sequence has at this position. */
const FROM_HISTORY = 0x40000000;

/** One token row of a step. */
export interface TokenRow {
  /** An id, the latest sampled one, or the one that was run at this position before. */
  token: number | 'previous' | 'again';
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
    this.#words[at] = token === 'previous' ? (FROM_SLOT | slot) >>> 0 : token === 'again' ? FROM_HISTORY : token;
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

  setRun(
    index: number,
    run: { firstRow: number; rows: number; position: number; slot: number; source: number; target: number },
  ): void {
    const { firstRow, rows, position, slot, source, target } = run;
    this.#words.set([firstRow, rows, position, slot, source, target], this.#layout.runsAt + index * RUN_WORDS);
  }

  setMark(slot: number, block: number, page: number): void {
    const at = this.#layout.marksAt + slot * this.#layout.maxBlocks + block;
    if (this.#words[at] === page) return;
    this.#words[at] = page;
    this.#tablesDirty = true;
  }

  setBlock(slot: number, index: number, block: number): void {
    this.#words[this.#layout.tablesAt + slot * this.#layout.maxBlocks + index] = block;
    this.#tablesDirty = true;
  }

  /** Writes what a step of `rows` rows, `tiles` tiles and `runs` runs needs: one call, and block tables only when they changed. */
  write(
    queue: GPUQueue,
    buffer: GPUBuffer,
    { rows, tiles, runs }: { rows: number; tiles: number; runs: number },
  ): void {
    const { rowsAt, tilesAt, runsAt, words } = this.#layout;
    let end = rowsAt + rows * 4;
    if (tiles > 0) end = tilesAt + tiles * 2;
    if (runs > 0) end = runsAt + runs * RUN_WORDS;
    if (this.#tablesDirty) end = words;
    this.#tablesDirty = false;
    queue.writeBuffer(buffer, 0, this.#words, 0, end);
  }
}
