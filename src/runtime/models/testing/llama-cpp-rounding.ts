import { f16Table, numberToF16 } from '../gguf/f16.ts';
import type { GgmlType } from '../gguf/tensor-types.ts';
import { geluTanh } from './reference-math.ts';

/**
 * What llama.cpp's CPU code makes of a vector before it multiplies it with a matrix of that type (`vec_dot_type` in ggml-cpu.c): it rounds to 8
 * bits in blocks, or to the type of the matrix. With the same rounding in the reference model, what differs from llama.cpp is the order of
 * sums alone, and a wrong nibble or scale cannot hide in a loose tolerance.
 */
export function roundLikeLlamaCpp(type: GgmlType, vector: Float32Array): Float32Array {
  const half = f16Table();
  switch (type) {
    case 'F32':
      return vector;
    case 'F16':
      return vector.map((value) => half[numberToF16(value)]!);
    case 'BF16':
      return vector.map(toBfloat);
    case 'Q4_0':
    case 'Q4_1':
    case 'Q5_0':
    case 'Q5_1':
    case 'Q8_0':
      return inBlocks(vector, 32, (block) => {
        const step = Math.fround(block.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127);
        const inverse = step === 0 ? 0 : Math.fround(1 / step);
        const stored = half[numberToF16(step)]!;
        return block.map((value) => roundEven(Math.fround(value * inverse)) * stored);
      });
    default:
      return inBlocks(vector, 256, (block) => {
        const most = block.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
        const inverse = Math.fround(-127 / most);
        return block.map((value) => (most === 0 ? 0 : Math.min(127, roundEven(Math.fround(inverse * value))) / inverse));
      });
  }
}

/** llama.cpp's GELU: a table over half-precision inputs, between -10 and 10 (`ggml_vec_gelu_f32`). */
export function geluLikeLlamaCpp(x: number): number {
  if (x <= -10) return 0;
  if (x >= 10) return x;
  const half = f16Table();
  return half[numberToF16(geluTanh(half[numberToF16(x)]!))]!;
}

function inBlocks(vector: Float32Array, size: number, round: (block: Float32Array) => Float32Array): Float32Array {
  const out = new Float32Array(vector.length);
  for (let at = 0; at < vector.length; at += size) out.set(round(vector.subarray(at, at + size)), at);
  return out;
}

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** Nearest, ties to even. */
function toBfloat(value: number): number {
  float[0] = value;
  bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000;
  return float[0];
}

function roundEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
