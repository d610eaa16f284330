import { f16Table } from './f16.ts';
import { BLOCK_LAYOUTS, type GgmlType } from './tensor-types.ts';

/**
 * Exact values of quantised weights, as ggml's `dequantize_row_*` defines them (ggml-quants.c). Products and sums are rounded to f32
 * once, at the end.
 *
 * @param bytes whole blocks, in file order
 * @param out as many elements as the blocks hold; a new array if not given
 */
export function dequantize(type: GgmlType, bytes: Uint8Array, out?: Float32Array): Float32Array {
  const { blockSize, blockBytes } = BLOCK_LAYOUTS[type];
  const blocks = bytes.length / blockBytes;
  if (!Number.isInteger(blocks)) throw new RangeError(`Cannot dequantise ${bytes.length} bytes of ${type}: no whole blocks`);
  const values = out ?? new Float32Array(blocks * blockSize);
  if (values.length !== blocks * blockSize) {
    throw new RangeError(`Cannot dequantise ${blocks * blockSize} values of ${type} into ${values.length}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const half = f16Table();
  const block = BLOCKS[type];
  for (let index = 0; index < blocks; index++) {
    block({ bytes, view, half, at: index * blockBytes, out: values, to: index * blockSize });
  }
  return values;
}

interface Block {
  bytes: Uint8Array;
  view: DataView;
  half: Float32Array;
  /** First byte of the block. */
  at: number;
  out: Float32Array;
  /** First element of the block. */
  to: number;
}

const BLOCKS: Readonly<Record<GgmlType, (block: Block) => void>> = {
  F32: ({ view, at, out, to }) => {
    out[to] = view.getFloat32(at, true);
  },
  F16: ({ view, half, at, out, to }) => {
    out[to] = half[view.getUint16(at, true)]!;
  },
  BF16: ({ view, at, out, to }) => {
    bfloatBits[0] = view.getUint16(at, true) << 16;
    out[to] = bfloat[0]!;
  },
  // d, 32 nibbles: elements 0-15 in the low ones, 16-31 in the high ones.
  Q4_0: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    for (let i = 0; i < 16; i++) {
      const byte = bytes[at + 2 + i]!;
      out[to + i] = d * ((byte & 15) - 8);
      out[to + 16 + i] = d * ((byte >> 4) - 8);
    }
  },
  // d, m, 32 nibbles.
  Q4_1: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    const m = half[view.getUint16(at + 2, true)]!;
    for (let i = 0; i < 16; i++) {
      const byte = bytes[at + 4 + i]!;
      out[to + i] = d * (byte & 15) + m;
      out[to + 16 + i] = d * (byte >> 4) + m;
    }
  },
  // d, 32 fifth bits, 32 nibbles.
  Q5_0: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    const high = view.getUint32(at + 2, true);
    for (let i = 0; i < 16; i++) {
      const byte = bytes[at + 6 + i]!;
      out[to + i] = d * (((byte & 15) | (((high >>> i) & 1) << 4)) - 16);
      out[to + 16 + i] = d * (((byte >> 4) | (((high >>> (i + 16)) & 1) << 4)) - 16);
    }
  },
  // d, m, 32 fifth bits, 32 nibbles.
  Q5_1: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    const m = half[view.getUint16(at + 2, true)]!;
    const high = view.getUint32(at + 4, true);
    for (let i = 0; i < 16; i++) {
      const byte = bytes[at + 8 + i]!;
      out[to + i] = d * ((byte & 15) | (((high >>> i) & 1) << 4)) + m;
      out[to + 16 + i] = d * ((byte >> 4) | (((high >>> (i + 16)) & 1) << 4)) + m;
    }
  },
  // d, 32 signed bytes.
  Q8_0: ({ view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    for (let i = 0; i < 32; i++) out[to + i] = d * view.getInt8(at + 2 + i);
  },
  // 16 bytes of 4-bit scale (low) and minimum (high) a group of 16, 64 bytes of 2-bit values, d, dmin.
  Q2_K: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at + 80, true)]!;
    const dmin = half[view.getUint16(at + 82, true)]!;
    for (let i = 0; i < 256; i++) {
      const scales = bytes[at + (i >> 4)]!;
      const quant = (bytes[at + 16 + (i >> 7) * 32 + (i & 31)]! >> (((i >> 5) & 3) * 2)) & 3;
      out[to + i] = d * (scales & 15) * quant - dmin * (scales >> 4);
    }
  },
  // 32 bytes of third bits (inverted), 64 bytes of 2-bit values, 12 bytes of 6-bit scales a group of 16, d.
  Q3_K: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at + 108, true)]!;
    for (let i = 0; i < 256; i++) {
      const low = (bytes[at + 32 + (i >> 7) * 32 + (i & 31)]! >> (((i >> 5) & 3) * 2)) & 3;
      const high = (bytes[at + (i & 31)]! >> (i >> 5)) & 1;
      out[to + i] = d * (q3Scale(bytes, at + 96, i >> 4) - 32) * (low - (high ? 0 : 4));
    }
  },
  // d, dmin, 12 bytes of 6-bit scales and minima a group of 32, 128 bytes of nibbles (64 elements in 32 bytes).
  Q4_K: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    const dmin = half[view.getUint16(at + 2, true)]!;
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const minimum = dmin * kMinimum(bytes, at + 4, group);
      const from = at + 16 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      for (let i = 0; i < 32; i++) out[to + group * 32 + i] = scale * ((bytes[from + i]! >> shift) & 15) - minimum;
    }
  },
  // As Q4_K, with 32 bytes of fifth bits (bit g for group g) before the nibbles.
  Q5_K: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at, true)]!;
    const dmin = half[view.getUint16(at + 2, true)]!;
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const minimum = dmin * kMinimum(bytes, at + 4, group);
      const from = at + 48 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      for (let i = 0; i < 32; i++) {
        const high = ((bytes[at + 16 + i]! >> group) & 1) << 4;
        out[to + group * 32 + i] = scale * (((bytes[from + i]! >> shift) & 15) | high) - minimum;
      }
    }
  },
  // 128 bytes of low nibbles, 64 bytes of high 2 bits, 16 signed scales a group of 16, d; in two halves of 128 elements.
  Q6_K: ({ bytes, view, half, at, out, to }) => {
    const d = half[view.getUint16(at + 208, true)]!;
    for (let i = 0; i < 256; i++) {
      const part = i >> 7;
      const quarter = (i >> 5) & 3;
      const lane = i & 31;
      const low = (bytes[at + part * 64 + (quarter & 1) * 32 + lane]! >> (quarter & 2 ? 4 : 0)) & 15;
      const high = (bytes[at + 128 + part * 32 + lane]! >> (quarter * 2)) & 3;
      out[to + i] = d * view.getInt8(at + 192 + (i >> 4)) * ((low | (high << 4)) - 32);
    }
  },
};

const bfloatBits = new Uint32Array(1);
const bfloat = new Float32Array(bfloatBits.buffer);

/** 6-bit scale of a group of 32 in the 12 bytes of Q4_K and Q5_K. */
export function kScale(bytes: Uint8Array, at: number, group: number): number {
  if (group < 4) return bytes[at + group]! & 63;
  return (bytes[at + group + 4]! & 15) | ((bytes[at + group - 4]! >> 6) << 4);
}

/** 6-bit minimum of a group of 32 in the 12 bytes of Q4_K and Q5_K. */
export function kMinimum(bytes: Uint8Array, at: number, group: number): number {
  if (group < 4) return bytes[at + 4 + group]! & 63;
  return (bytes[at + group + 4]! >> 4) | ((bytes[at + group]! >> 6) << 4);
}

/** 6-bit scale (plus 32) of a group of 16 in the 12 bytes of Q3_K: low nibbles of groups 0-7 and high ones of 8-15, then 2 bits each. */
function q3Scale(bytes: Uint8Array, at: number, group: number): number {
  const low = group < 8 ? bytes[at + group]! & 15 : bytes[at + group - 8]! >> 4;
  return low | (((bytes[at + 8 + (group & 3)]! >> ((group >> 2) * 2)) & 3) << 4);
}
