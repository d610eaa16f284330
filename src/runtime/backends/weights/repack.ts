import { dequantize, kMinimum, kScale } from '../../models/gguf/dequantize.ts';
import { f16Table, numberToF16 } from '../../models/gguf/f16.ts';
import { BLOCK_LAYOUTS, type GgmlType } from '../../models/gguf/tensor-types.ts';
import { UNIT_FORMATS, unitsPerRow, type WeightFormat } from './unit-formats.ts';

/**
 * Device format of each file type. Exact but for K-quants, whose 6-bit scales times f16 are rounded to one f16: a relative error of at
 * most 2^-11 of the scale and of the minimum, so of a weight at most 2^-11 (|scale * q| + |minimum|).
 */
export const DEVICE_FORMATS: Readonly<Record<GgmlType, WeightFormat>> = {
  F32: 'f32',
  F16: 'f16',
  BF16: 'bf16',
  Q4_0: 'int4',
  Q4_1: 'int4m',
  Q4_K: 'int4m',
  Q5_0: 'int8',
  Q5_1: 'int8m',
  Q8_0: 'int8',
  Q2_K: 'int8m',
  Q3_K: 'int8',
  Q5_K: 'int8m',
  Q6_K: 'int8',
};

/** Rows in a device format: units of 16 bytes, and the scales that go with them. */
export interface PackedRows {
  units: Uint8Array<ArrayBuffer>;
  /** Bytes of the scales, a multiple of 4. */
  scales: Uint8Array<ArrayBuffer>;
}

/**
 * Repacks whole rows from the file's layout to a device format: the type's own one, or `f16` of its values for any type.
 *
 * @param bytes rows in file order
 * @param cols elements of a row
 */
export function repackRows(type: GgmlType, format: WeightFormat, bytes: Uint8Array, cols: number): PackedRows {
  const { blockSize, blockBytes } = BLOCK_LAYOUTS[type];
  const rows = bytes.length / ((cols / blockSize) * blockBytes);
  const unitCount = rows * unitsPerRow(format, cols);
  const scaleBytes = unitCount * UNIT_FORMATS[format].scaleBytes;
  const packed: PackedRows = {
    units: new Uint8Array(unitCount * 16),
    scales: new Uint8Array(Math.ceil(scaleBytes / 4) * 4),
  };
  if (format === 'f16' && type !== 'F16') packHalves(packed.units, dequantize(type, bytes), rows, cols);
  else if (UNIT_FORMATS[format].scaleBytes === 0) padRows(packed.units, bytes, rows);
  else {
    const target = { units: packed.units, scales: new Uint16Array(packed.scales.buffer) };
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const source = { bytes, view, half: f16Table() };
    const pack = PACKERS[type]!;
    const unitsPerBlock = blockSize / UNIT_FORMATS[format].unitSize;
    const blocks = bytes.length / blockBytes;
    for (let block = 0; block < blocks; block++) pack(source, block * blockBytes, target, block * unitsPerBlock);
  }
  return packed;
}

/** Rows that are copied as they are, each padded with zeros to whole units. */
function padRows(units: Uint8Array, bytes: Uint8Array, rows: number): void {
  const from = bytes.length / rows;
  const to = units.length / rows;
  if (from === to) units.set(bytes);
  else for (let row = 0; row < rows; row++) units.set(bytes.subarray(row * from, (row + 1) * from), row * to);
}

function packHalves(units: Uint8Array<ArrayBuffer>, values: Float32Array, rows: number, cols: number): void {
  const halves = new Uint16Array(units.buffer);
  const stride = halves.length / rows;
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) halves[row * stride + col] = numberToF16(values[row * cols + col]!);
  }
}

interface Source {
  bytes: Uint8Array;
  view: DataView;
  /** f32 of each f16. */
  half: Float32Array;
}

interface Target {
  units: Uint8Array;
  /** One a unit, or scale and minimum. */
  scales: Uint16Array;
}

type Packer = (source: Source, at: number, target: Target, unit: number) => void;

/** INT8 unit with a scale and a minimum. */
function setPair(scales: Uint16Array, unit: number, scale: number, minimum: number): void {
  scales[unit * 2] = numberToF16(scale);
  scales[unit * 2 + 1] = numberToF16(minimum);
}

/** 32 values of 5 bits as bytes: nibbles at `low`, fifth bits in `high`; less `offset`. */
function unpackFives(
  bytes: Uint8Array,
  low: number,
  high: number,
  offset: number,
  units: Uint8Array,
  to: number,
): void {
  for (let i = 0; i < 16; i++) {
    const byte = bytes[low + i]!;
    units[to + i] = ((byte & 15) | (((high >>> i) & 1) << 4)) - offset;
    units[to + 16 + i] = ((byte >> 4) | (((high >>> (i + 16)) & 1) << 4)) - offset;
  }
}

// Block layouts: models/gguf/dequantize.ts. Float types have no packer.
const PACKERS: Readonly<Partial<Record<GgmlType, Packer>>> = {
  Q4_0: ({ bytes, view }, at, { units, scales }, unit) => {
    scales[unit] = view.getUint16(at, true);
    units.set(bytes.subarray(at + 2, at + 18), unit * 16);
  },
  Q4_1: ({ bytes, view }, at, { units, scales }, unit) => {
    scales[unit * 2] = view.getUint16(at, true);
    scales[unit * 2 + 1] = view.getUint16(at + 2, true);
    units.set(bytes.subarray(at + 4, at + 20), unit * 16);
  },
  Q5_0: ({ bytes, view }, at, { units, scales }, unit) => {
    scales[unit] = scales[unit + 1] = view.getUint16(at, true);
    unpackFives(bytes, at + 6, view.getUint32(at + 2, true), 16, units, unit * 16);
  },
  Q5_1: ({ bytes, view }, at, { units, scales }, unit) => {
    for (let i = 0; i < 2; i++) {
      scales[(unit + i) * 2] = view.getUint16(at, true);
      scales[(unit + i) * 2 + 1] = view.getUint16(at + 2, true);
    }
    unpackFives(bytes, at + 8, view.getUint32(at + 4, true), 0, units, unit * 16);
  },
  Q8_0: ({ bytes, view }, at, { units, scales }, unit) => {
    scales[unit] = scales[unit + 1] = view.getUint16(at, true);
    units.set(bytes.subarray(at + 2, at + 34), unit * 16);
  },
  Q2_K: ({ bytes, view, half }, at, { units, scales }, unit) => {
    const d = half[view.getUint16(at + 80, true)]!;
    const dmin = half[view.getUint16(at + 82, true)]!;
    for (let group = 0; group < 16; group++) {
      const both = bytes[at + group]!;
      setPair(scales, unit + group, d * (both & 15), -dmin * (both >> 4));
    }
    for (let i = 0; i < 256; i++) {
      units[unit * 16 + i] = (bytes[at + 16 + (i >> 7) * 32 + (i & 31)]! >> (((i >> 5) & 3) * 2)) & 3;
    }
  },
  Q3_K: ({ bytes, view, half }, at, { units, scales }, unit) => {
    const d = half[view.getUint16(at + 108, true)]!;
    for (let group = 0; group < 16; group++) {
      const low = group < 8 ? bytes[at + 96 + group]! & 15 : bytes[at + 88 + group]! >> 4;
      const high = (bytes[at + 104 + (group & 3)]! >> ((group >> 2) * 2)) & 3;
      scales[unit + group] = numberToF16(d * ((low | (high << 4)) - 32));
    }
    for (let i = 0; i < 256; i++) {
      const low = (bytes[at + 32 + (i >> 7) * 32 + (i & 31)]! >> (((i >> 5) & 3) * 2)) & 3;
      units[unit * 16 + i] = low - ((bytes[at + (i & 31)]! >> (i >> 5)) & 1 ? 0 : 4);
    }
  },
  // 64 elements lie in 32 bytes, group 2p in the low nibbles and 2p + 1 in the high ones; the device wants 32 elements in 16 bytes.
  Q4_K: ({ bytes, view, half }, at, { units, scales }, unit) => {
    const d = half[view.getUint16(at, true)]!;
    const dmin = half[view.getUint16(at + 2, true)]!;
    for (let group = 0; group < 8; group++) {
      setPair(scales, unit + group, d * kScale(bytes, at + 4, group), -dmin * kMinimum(bytes, at + 4, group));
      const from = at + 16 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      const to = (unit + group) * 16;
      for (let i = 0; i < 16; i++) {
        units[to + i] = ((bytes[from + i]! >> shift) & 15) | (((bytes[from + 16 + i]! >> shift) & 15) << 4);
      }
    }
  },
  Q5_K: ({ bytes, view, half }, at, { units, scales }, unit) => {
    const d = half[view.getUint16(at, true)]!;
    const dmin = half[view.getUint16(at + 2, true)]!;
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const minimum = -dmin * kMinimum(bytes, at + 4, group);
      setPair(scales, unit + 2 * group, scale, minimum);
      setPair(scales, unit + 2 * group + 1, scale, minimum);
      const from = at + 48 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      const to = unit * 16 + group * 32;
      for (let i = 0; i < 32; i++) {
        units[to + i] = ((bytes[from + i]! >> shift) & 15) | (((bytes[at + 16 + i]! >> group) & 1) << 4);
      }
    }
  },
  Q6_K: ({ bytes, view, half }, at, { units, scales }, unit) => {
    const d = half[view.getUint16(at + 208, true)]!;
    for (let group = 0; group < 16; group++) scales[unit + group] = numberToF16(d * view.getInt8(at + 192 + group));
    for (let i = 0; i < 256; i++) {
      const part = i >> 7;
      const quarter = (i >> 5) & 3;
      const lane = i & 31;
      const low = (bytes[at + part * 64 + (quarter & 1) * 32 + lane]! >> (quarter & 2 ? 4 : 0)) & 15;
      const high = (bytes[at + 128 + part * 32 + lane]! >> (quarter * 2)) & 3;
      units[unit * 16 + i] = (low | (high << 4)) - 32;
    }
  },
};
