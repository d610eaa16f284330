import type { RopeStyle } from '../architectures/model-config.ts';
import type { RopeFrequencies } from '../architectures/rope-frequencies.ts';

/** Plain arithmetic of the reference model: f32 in, f32 out, sums in f64. */

/** `matrix` holds rows of `vector.length`; one output per row. */
export function matrixTimesVector(matrix: Float32Array, vector: Float32Array): Float32Array {
  const inputs = vector.length;
  const out = new Float32Array(matrix.length / inputs);
  for (let row = 0, at = 0; row < out.length; row++, at += inputs) {
    // Four sums, or each addition would wait for the one before.
    let [a, b, c, d] = [0, 0, 0, 0];
    let i = 0;
    for (; i + 3 < inputs; i += 4) {
      a += matrix[at + i]! * vector[i]!;
      b += matrix[at + i + 1]! * vector[i + 1]!;
      c += matrix[at + i + 2]! * vector[i + 2]!;
      d += matrix[at + i + 3]! * vector[i + 3]!;
    }
    for (; i < inputs; i++) a += matrix[at + i]! * vector[i]!;
    out[row] = a + b + (c + d);
  }
  return out;
}

export function rmsNorm(vector: Float32Array, weight: Float32Array, eps: number): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const scale = 1 / Math.sqrt(squares / vector.length + eps);
  return vector.map((value, index) => value * scale * weight[index]!);
}

/** Turns pairs of the first elements of a head, in place. */
export function rotate(head: Float32Array, position: number, style: RopeStyle, rope: RopeFrequencies): void {
  const pairs = rope.radians.length;
  for (let pair = 0; pair < pairs; pair++) {
    const angle = position * rope.radians[pair]!;
    const [cos, sin] = [Math.cos(angle) * rope.magnitude, Math.sin(angle) * rope.magnitude];
    const [i, j] = style === 'interleaved' ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs];
    const [x, y] = [head[i]!, head[j]!];
    head[i] = x * cos - y * sin;
    head[j] = x * sin + y * cos;
  }
}

interface AttendOptions {
  heads: number;
  kvHeads: number;
  headDim: number;
  scale: number;
  /** Scores are capped softly. */
  softcap?: number | undefined;
  /** One more score a head, of nothing. */
  sinks?: ArrayLike<number> | undefined;
}

/** Grouped-query attention of one token: head h looks at key-value head floor(h * kvHeads / heads). */
export function attend(
  q: Float32Array,
  keys: readonly Float32Array[],
  values: readonly Float32Array[],
  { heads, kvHeads, headDim, scale, softcap, sinks }: AttendOptions,
): Float32Array {
  const out = new Float32Array(heads * headDim);
  for (let head = 0; head < heads; head++) {
    const [qAt, kvAt] = [head * headDim, Math.floor((head * kvHeads) / heads) * headDim];
    const scores = keys.map((key) => {
      let sum = 0;
      for (let i = 0; i < headDim; i++) sum += q[qAt + i]! * key[kvAt + i]!;
      return softcap === undefined ? sum * scale : softcap * Math.tanh((sum * scale) / softcap);
    });
    const most = scores.reduce((a, b) => Math.max(a, b), sinks?.[head] ?? -Infinity);
    const shares = scores.map((score) => Math.exp(score - most));
    const total = shares.reduce((a, b) => a + b, sinks ? Math.exp(sinks[head]! - most) : 0);
    for (let i = 0; i < headDim; i++) {
      let sum = 0;
      for (let token = 0; token < values.length; token++) sum += shares[token]! * values[token]![kvAt + i]!;
      out[qAt + i] = sum / total;
    }
  }
  return out;
}

/** activation(gate) * up, element by element. */
export function gatedActivation(apply: (x: number) => number, gate: Float32Array, up: Float32Array): Float32Array {
  return gate.map((value, index) => apply(value) * up[index]!);
}

export function silu(x: number): number {
  return x / (1 + Math.exp(-x));
}

export function geluTanh(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}
