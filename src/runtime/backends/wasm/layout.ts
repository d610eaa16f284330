/**
 * How things lie in the memory that our modules work on. Everything that TypeScript and the modules both need to know of it is here.
 *
 * Weights: rows in groups of four, and within a group columns in words of four bytes, so that a vector holds four columns of four rows
 * and each lane sums up its own row. Activations of a row: records of 32 columns, 8 bits each, with their scale and sums.
 */

export type WasmFormat = 'int4' | 'int4m' | 'int7' | 'int7m' | 'int8' | 'f16' | 'bf16' | 'f32';

export interface FormatLayout {
  /** Columns that share a scale; 0 for float formats. */
  group: 0 | 16 | 32;
  /** Bytes of one row of such a group, scales left out; of one weight for float formats. */
  bytes: number;
  /** A minimum beside each scale. */
  minimum: boolean;
  /** What was added to each value to make it positive. */
  offset: number;
}

/** Scales and minima are f16. `int8` is for values that need all 8 bits, `int7` for those within -64 to 63. */
export const FORMATS: Readonly<Record<WasmFormat, FormatLayout>> = {
  int4: { group: 32, bytes: 16, minimum: false, offset: 8 },
  int4m: { group: 32, bytes: 16, minimum: true, offset: 0 },
  int7: { group: 16, bytes: 16, minimum: false, offset: 64 },
  int7m: { group: 16, bytes: 16, minimum: true, offset: 0 },
  int8: { group: 16, bytes: 16, minimum: false, offset: 128 },
  f16: { group: 0, bytes: 2, minimum: false, offset: 0 },
  bf16: { group: 0, bytes: 2, minimum: false, offset: 0 },
  f32: { group: 0, bytes: 4, minimum: false, offset: 0 },
};

export const WASM_FORMATS = Object.keys(FORMATS) as WasmFormat[];

/** Rows whose weights are interleaved. */
export const GROUP_ROWS = 4;
/** Rows that a matrix is padded to: what one task computes. */
export const TASK_ROWS = 8;
/** Columns of a record of activations. */
export const RECORD_COLS = 32;

/** Bytes of a group of four rows: all its values, then all its scales, then all its minima. */
export function groupBytes(format: WasmFormat, cols: number): number {
  const { group, bytes, minimum } = FORMATS[format];
  const padded = align(cols, RECORD_COLS);
  if (group === 0) return padded * bytes * GROUP_ROWS;
  return (padded / group) * GROUP_ROWS * (bytes + (minimum ? 4 : 2));
}

/** What follows the 32 values of a record, by their offset: what a matrix product needs of it besides. */
export const RECORD = {
  /** f32 */
  scale: 0,
  /** i32: -8 times the sum of all 32. */
  lessOffset4: 4,
  /** i32, twice: -64 times the sum of each half. */
  lessOffset7: 8,
  /** f32: scale times the sum of all 32. */
  sum: 16,
  /** f32, twice: the same of each half. */
  halfSums: 20,
  bytes: 32,
} as const;

/** Bytes of the values of a record: 8 bits with relaxed SIMD, else 16, which its products need. */
export const recordValueBytes = (isRelaxed: boolean): number => RECORD_COLS * (isRelaxed ? 1 : 2);
export const recordBytes = (isRelaxed: boolean): number => recordValueBytes(isRelaxed) + RECORD.bytes;

/** Words of an operation of the program; `counter` hands out its tasks. */
export const OPERATION_WORDS = 32;
export const OPERATION_BYTES = OPERATION_WORDS * 4;

/** Where an operation tells that the next one runs along with it, with no barrier between. */
export const TOGETHER_OFFSET = OPERATION_BYTES - 4;

/** Words at the begin of memory through which threads talk, as byte offsets; each on a cache line of its own. */
export const CONTROL = {
  /** Counts jobs up: a new number is a new job. */
  job: 64,
  jobSleepers: 128,
  /** Counts barriers up. */
  barrier: 192,
  barrierSleepers: 256,
  arrived: 320,
  /** Set once a thread has not come to a barrier in time. */
  fault: 384,
  /** Of the job: first operation, end, and threads that take part. */
  first: 448,
  end: 452,
  threads: 456,
  /** Token rows of the step, and rows of logits. */
  rows: 460,
  samples: 464,
  /** Address where the scratch of attention begins, and its bytes per thread. */
  scratch: 468,
  scratchBytes: 472,
  bytes: 512,
} as const;

/** Words of a token row: position, and the address of its sequence's table of KV blocks. */
export const ROW_BYTES = 8;

export const KV_BLOCK = 32;

export const align = (value: number, to: number): number => Math.ceil(value / to) * to;
