import type { ModelWeights, RopeConfig } from '../../models/architectures/model-config.ts';
import { ropeFrequencies, usesLongFactors } from '../../models/architectures/rope-frequencies.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';

/**
 * Cosines and sines of every position, [contextTokens, pairs, 2] f32. Made in f64: angles grow to the context length, where
 * a GPU's own sine is far off.
 */
export function ropeTable(
  rope: RopeConfig,
  contextTokens: number,
  weights: ModelWeights,
  vectors: ReadonlyMap<GgufTensorInfo, Float32Array>,
): Float32Array<ArrayBuffer> {
  const { radians, magnitude } = ropeFrequencies(rope, factorsOf(rope, contextTokens, weights, vectors));
  const pairs = radians.length;
  const table = new Float32Array(contextTokens * pairs * 2);
  for (let position = 0; position < contextTokens; position++) {
    for (let pair = 0; pair < pairs; pair++) {
      const angle = position * radians[pair]!;
      const at = (position * pairs + pair) * 2;
      table[at] = Math.cos(angle) * magnitude;
      table[at + 1] = Math.sin(angle) * magnitude;
    }
  }
  return table;
}

function factorsOf(
  rope: RopeConfig,
  contextTokens: number,
  weights: ModelWeights,
  vectors: ReadonlyMap<GgufTensorInfo, Float32Array>,
): Float32Array | undefined {
  if (!rope.usesFactors) return undefined;
  const tensor =
    rope.scaling.type === 'longrope'
      ? usesLongFactors(rope, contextTokens)
        ? weights.ropeFactorsLong
        : weights.ropeFactorsShort
      : weights.ropeFactors;
  return tensor && vectors.get(tensor);
}

/** Equal for layers that can share a table. */
export function ropeKey(rope: RopeConfig): string {
  return JSON.stringify(rope);
}
