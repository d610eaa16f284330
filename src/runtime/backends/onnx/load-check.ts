import { gatherKv, type KvBatch } from './kv-batch.ts';
import type { OnnxSession } from './onnx-session.ts';
import type { OrtModule } from './ort-runtime.ts';

/** More than 32 tokens at once, which is where wrong kernels have shown, and no multiple of anything. */
const CHECK_TOKENS = 41;

/** Parts of fewer than 32 tokens. */
const CHECK_PARTS = [23, 18];

/** Tokens before the ones that are computed together: of lengths that differ. */
const CHECK_PASTS = [3, 11];

export interface NumericCheck {
  /** Two ways to compute the same gave the same logits, but for rounding. */
  isRight: boolean;
  /** Cosine between the two vectors of logits, less their means, the smallest where there are several; NaN if there was a NaN or all logits were equal. */
  cosine: number;
}

/**
 * Computes a known prompt at once and in parts, and compares. onnxruntime-web 1.30 takes other kernels for many rows than for few, and some
 * of them are wrong on some devices (SwiftShader, subgroups of 4 lanes: nonsense from 32 rows on). Wrong kernels give a cosine near 0;
 * rounding, f16 and 8-bit activations leave it above 0.99.
 */
export async function checkPrefill(session: OnnxSession): Promise<NumericCheck> {
  const ids = knownPrompt(session.vocabSize, CHECK_TOKENS);
  const whole = await compute(session, [ids]);
  let from = 0;
  const parts = CHECK_PARTS.map((length) => ids.slice(from, (from += length)));
  const inParts = await compute(session, parts);
  for (const { kv } of [whole, inParts]) kv.dispose();
  const cosine = centredCosine(whole.logits, inParts.logits);
  return { isRight: cosine > 0.99, cosine };
}

/**
 * Computes one token each of two sequences of different lengths, alone and together with padding, and compares: a model whose attention does
 * not take its lengths from the mask, or a GPU that computes batches wrongly, must not decode several sequences at once. Nothing but rounding
 * may differ, so the bound is closer.
 */
export async function checkBatch(ort: OrtModule, session: OnnxSession, device?: GPUDevice): Promise<NumericCheck> {
  const ids = knownPrompt(session.vocabSize, CHECK_PASTS.length);
  const sources: { kv: { batch: KvBatch; row: number }; length: number }[] = [];
  const alone: Float32Array[] = [];
  for (const [index, length] of CHECK_PASTS.entries()) {
    const past = await compute(session, [knownPrompt(session.vocabSize, length + 2).slice(2)]);
    sources.push({ kv: { batch: past.kv, row: 0 }, length });
    const next = await session.forward({ ids: [[ids[index]!]], lengths: [length], past: past.kv, logits: 1 });
    alone.push(next.logits[0]!.slice());
    next.kv.dispose();
  }
  const past = gatherKv(ort, session.layout, sources, device);
  const together = await session.forward({ ids: ids.map((id) => [id]), lengths: CHECK_PASTS, past, logits: 1 });
  for (const batch of [past, together.kv, ...sources.map(({ kv }) => kv.batch)]) batch?.dispose();
  const cosine = Math.min(...alone.map((logits, row) => centredCosine(logits, together.logits[row]!)));
  return { isRight: cosine > 0.9999, cosine };
}

/** Ids spread over the vocabulary, always the same ones. */
function knownPrompt(vocabSize: number, tokens: number): number[] {
  return Array.from({ length: tokens }, (_, index) => (index * 2654435761 + 12345) % vocabSize);
}

/** The parts after each other; logits after the last token. */
async function compute(
  session: OnnxSession,
  parts: readonly (readonly number[])[],
): Promise<{ kv: KvBatch; logits: Float32Array }> {
  let past: KvBatch | undefined;
  let length = 0;
  let logits: Float32Array | undefined;
  for (const ids of parts) {
    const result = await session.forward({ ids: [ids], lengths: [length], past, logits: 1 });
    past?.dispose();
    past = result.kv;
    length += ids.length;
    logits = result.logits[0]!.slice();
  }
  return { kv: past!, logits: logits! };
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
