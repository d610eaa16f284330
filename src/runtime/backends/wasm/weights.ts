import { f16Table } from '../../models/gguf/f16.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import type { GgmlType } from '../../models/gguf/tensor-types.ts';
import { DEVICE_FORMATS, repackRows } from '../weights/repack.ts';
import { unitsPerRow } from '../weights/unit-formats.ts';
import { align, FORMATS, GROUP_ROWS, groupBytes, RECORD_COLS, TASK_ROWS, type WasmFormat } from './layout.ts';

/** Which layout the weights of each file type get. Exact, but for scales of K-quants (see `DEVICE_FORMATS`). */
const WASM_FORMAT_OF: Readonly<Record<GgmlType, WasmFormat>> = {
  F32: 'f32',
  F16: 'f16',
  BF16: 'bf16',
  Q4_0: 'int4',
  Q4_1: 'int4m',
  Q4_K: 'int4m',
  Q5_0: 'int7',
  Q5_1: 'int7m',
  Q8_0: 'int8',
  Q2_K: 'int7m',
  Q3_K: 'int7',
  Q5_K: 'int7m',
  Q6_K: 'int7',
};

/** A matrix in memory. */
export interface WasmMatrix {
  tensor: GgufTensorInfo;
  format: WasmFormat;
  rows: number;
  cols: number;
  /** Of four rows. */
  groupBytes: number;
  bytes: number;
  address: number;
}

/** What a tensor takes; its address is given later. */
export function planMatrix(tensor: GgufTensorInfo): WasmMatrix {
  const [cols, rows] = [tensor.shape[0]!, tensor.shape[1]!];
  const format = WASM_FORMAT_OF[tensor.type];
  const perGroup = groupBytes(format, cols);
  const bytes = (align(rows, TASK_ROWS) / GROUP_ROWS) * perGroup;
  return { tensor, format, rows, cols, groupBytes: perGroup, bytes, address: 0 };
}

/** What makes the bytes of values positive, four at a time. */
const TO_POSITIVE: Readonly<Record<number, (word: number) => number>> = {
  0: (word) => word,
  8: (word) => word,
  64: (word) => ((word & 0x7f7f7f7f) + 0x40404040) ^ (word & 0x80808080),
  128: (word) => word ^ 0x80808080,
};

/** Puts rows of the file, from row `first` on, to their place in memory. */
export function placeRows(memory: ArrayBufferLike, matrix: WasmMatrix, bytes: Uint8Array, first: number): void {
  const { tensor, format, cols } = matrix;
  const { group, minimum, offset } = FORMATS[format];
  if (group === 0) {
    placeFloats(memory, matrix, bytes, first);
    return;
  }
  const deviceFormat = DEVICE_FORMATS[tensor.type];
  const packed = repackRows(tensor.type, deviceFormat, bytes, cols);
  const units = unitsPerRow(deviceFormat, cols);
  const places = align(cols, RECORD_COLS) / group;
  const from = new Int32Array(packed.units.buffer);
  const scales = new Uint16Array(packed.scales.buffer);
  const words = new Int32Array(memory);
  const halves = new Uint16Array(memory);
  const toPositive = TO_POSITIVE[offset]!;
  const rows = from.length / 4 / units;
  for (let row = 0; row < rows; row++) {
    const lane = (first + row) % GROUP_ROWS;
    const base = matrix.address + Math.floor((first + row) / GROUP_ROWS) * matrix.groupBytes;
    let to = base / 4 + lane;
    let scaleTo = (base + places * 64) / 2 + lane;
    for (let unit = row * units; unit < (row + 1) * units; unit++) {
      for (let j = 0; j < 4; j++, to += GROUP_ROWS) words[to] = toPositive(from[unit * 4 + j]!);
      halves[scaleTo] = scales[minimum ? unit * 2 : unit]!;
      if (minimum) halves[scaleTo + places * GROUP_ROWS] = scales[unit * 2 + 1]!;
      scaleTo += GROUP_ROWS;
    }
  }
}

function placeFloats(memory: ArrayBufferLike, matrix: WasmMatrix, bytes: Uint8Array, first: number): void {
  const { cols, format } = matrix;
  const size = FORMATS[format].bytes;
  const Numbers = size === 4 ? Uint32Array : Uint16Array;
  const from = new Numbers(bytes.slice().buffer);
  const to = new Numbers(memory as ArrayBuffer);
  for (let row = 0; row * cols < from.length; row++) {
    let at = (matrix.address + Math.floor((first + row) / GROUP_ROWS) * matrix.groupBytes) / size;
    at += (first + row) % GROUP_ROWS;
    for (let col = 0; col < cols; col++, at += GROUP_ROWS) to[at] = from[row * cols + col]!;
  }
}

/** Views of memory, made once. */
export interface MemoryViews {
  bytes: Uint8Array;
  halves: Uint16Array;
  ints: Int32Array;
  floats: Float32Array;
}

/** One row's values times `factor`, for the embedding of a token. */
export function readRow(
  { bytes, halves, ints, floats }: MemoryViews,
  matrix: WasmMatrix,
  row: number,
  { to, factor }: { to: number; factor: number },
): void {
  const { cols, format } = matrix;
  const { group, minimum, offset, bytes: size } = FORMATS[format];
  const half = f16Table();
  const base = matrix.address + Math.floor(row / GROUP_ROWS) * matrix.groupBytes;
  const lane = row % GROUP_ROWS;
  if (group === 0) {
    const at = base / size + lane;
    for (let col = 0; col < cols; col++) {
      const index = at + col * GROUP_ROWS;
      if (format === 'f32') floats[to + col] = floats[index]! * factor;
      else if (format === 'f16') floats[to + col] = half[halves[index]!]! * factor;
      else {
        ints[to + col] = halves[index]! << 16;
        floats[to + col]! *= factor;
      }
    }
    return;
  }
  const places = align(cols, RECORD_COLS) / group;
  const scales = (base + places * 64) / 2 + lane;
  for (let col = 0; col < cols; col++) {
    const place = Math.floor(col / group);
    const within = col % group;
    const byte = bytes[base + place * 64 + ((within % 16) >> 2) * 16 + lane * 4 + (within & 3)]!;
    const value = group === 16 ? byte : within < 16 ? byte & 15 : byte >> 4;
    const scale = half[halves[scales + place * GROUP_ROWS]!]!;
    const least = minimum ? half[halves[scales + (places + place) * GROUP_ROWS]!]! : 0;
    floats[to + col] = ((value - offset) * scale + least) * factor;
  }
}
