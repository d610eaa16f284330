import type { ArithmeticFormat } from './devices.ts';

/** A way to keep weights, and what computing with them takes. */
export interface Precision {
  id: PrecisionId;
  name: string;
  /** Bits that a weight takes, scales included. */
  bitsPerWeight: number;
  /** What is multiplied: weights of fewer bits are unpacked to f16 on the way. */
  arithmetic: ArithmeticFormat;
}

export type PrecisionId = 'f32' | 'f16' | 'int8' | 'int4' | 'q8_0' | 'q4_0';

/** `int8` and `int4` with an f16 scale for 128 weights, as servers have them; `q8_0` and `q4_0` for 32, as in GGUF and in this page. */
export const PRECISIONS: readonly Precision[] = [
  { id: 'f32', name: 'F32', bitsPerWeight: 32, arithmetic: 'f32' },
  { id: 'f16', name: 'F16', bitsPerWeight: 16, arithmetic: 'f16' },
  { id: 'int8', name: 'INT8, groups of 128', bitsPerWeight: 8.125, arithmetic: 'int8' },
  { id: 'int4', name: 'INT4, groups of 128', bitsPerWeight: 4.125, arithmetic: 'f16' },
  { id: 'q8_0', name: 'Q8_0, groups of 32', bitsPerWeight: 8.5, arithmetic: 'f16' },
  { id: 'q4_0', name: 'Q4_0, groups of 32', bitsPerWeight: 4.5, arithmetic: 'f16' },
];

/** @throws RangeError for an unknown one */
export function findPrecision(id: PrecisionId): Precision {
  const precision = PRECISIONS.find((known) => known.id === id);
  if (!precision)
    throw new RangeError(`Cannot take precision ${id}: give one of ${PRECISIONS.map((known) => known.id).join(', ')}`);
  return precision;
}

/** Bytes of that many weights. */
export const weightBytesOf = (parameters: number, id: PrecisionId): number =>
  (parameters * findPrecision(id).bitsPerWeight) / 8;
