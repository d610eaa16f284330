import { disposeKv, type KvTensors } from './kv-tensors.ts';
import type { OnnxSession } from './onnx-session.ts';

/** More than 32 tokens at once, which is where wrong kernels have shown, and no multiple of anything. */
const CHECK_TOKENS = 41;

/** Parts of fewer than 32 tokens. */
const CHECK_PARTS = [23, 18];

export interface PrefillCheck {
  /** The same tokens at once and in parts gave the same logits, but for rounding. */
  isRight: boolean;
  /** Cosine between the two vectors of logits, less their means; NaN if there was a NaN or all logits were equal. */
  cosine: number;
}

/**
 * Computes a known prompt at once and in parts, and compares. onnxruntime-web 1.30 takes other kernels for many rows than for few, and some
 * of them are wrong on some devices (SwiftShader, subgroups of 4 lanes: nonsense from 32 rows on). Wrong kernels give a cosine near 0;
 * rounding, f16 and 8-bit activations leave it above 0.99.
 */
export async function checkPrefill(session: OnnxSession): Promise<PrefillCheck> {
  const ids = knownPrompt(session.vocabSize);
  const whole = await logitsOf(session, [ids]);
  let from = 0;
  const parts = CHECK_PARTS.map((length) => ids.slice(from, (from += length)));
  const inParts = await logitsOf(session, parts);
  const cosine = centredCosine(whole, inParts);
  return { isRight: cosine > 0.99, cosine };
}

/** Ids spread over the vocabulary, always the same ones. */
function knownPrompt(vocabSize: number): number[] {
  return Array.from({ length: CHECK_TOKENS }, (_, index) => (index * 2654435761 + 12345) % vocabSize);
}

async function logitsOf(session: OnnxSession, parts: readonly (readonly number[])[]): Promise<Float32Array> {
  let kv: KvTensors = [];
  let logits: Float32Array | undefined;
  for (const [index, ids] of parts.entries()) {
    const result = await session.forward(ids, kv, index === parts.length - 1);
    disposeKv(kv);
    kv = result.kv;
    logits = result.logits?.slice();
  }
  disposeKv(kv);
  return logits ?? new Float32Array(session.vocabSize);
}

/** Cosine of the angle between two vectors after the mean of each is taken away; NaN for a NaN or a flat vector. */
export function centredCosine(a: Float32Array, b: Float32Array): number {
  const meanA = a.reduce((sum, value) => sum + value, 0) / a.length;
  const meanB = b.reduce((sum, value) => sum + value, 0) / b.length;
  let dot = 0;
  let squaresA = 0;
  let squaresB = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]! - meanA;
    const y = b[i]! - meanB;
    dot += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return dot / Math.sqrt(squaresA * squaresB);
}
