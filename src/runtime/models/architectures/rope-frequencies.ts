import type { RopeConfig } from './model-config.ts';

export interface RopeFrequencies {
  /** Radians per position of each rotated pair: `dims / 2` of them. */
  radians: Float64Array;
  /** What cosine and sine are multiplied with. */
  magnitude: number;
}

/**
 * Angles of rotary positions: pair i at position p is turned by `p * radians[i]`. All ways of scaling come down to this table.
 *
 * @param factors content of `weights.ropeFactors`, or of the longrope tensor that fits the context; given if `rope.usesFactors`
 * @see ggml_rope_ext in ggml-cpu/ops.cpp for YaRN with its ramp; arXiv 2309.00071
 */
export function ropeFrequencies(rope: RopeConfig, factors?: ArrayLike<number>): RopeFrequencies {
  const { dims, base, scaling } = rope;
  const pairs = dims / 2;
  if (rope.usesFactors && factors?.length !== pairs) throw new RangeError(`Cannot rotate ${pairs} pairs without factors`);
  const radians = new Float64Array(pairs);
  const keptShare = scaling.type === 'yarn' ? yarnRamp(scaling, dims, base) : () => 0;
  const scale = scaling.type === 'linear' || scaling.type === 'yarn' ? 1 / scaling.factor : 1;
  for (let pair = 0; pair < pairs; pair++) {
    const plain = base ** ((-2 * pair) / dims) / (rope.usesFactors ? factors![pair]! : 1);
    const kept = keptShare(pair);
    radians[pair] = plain * (scale * (1 - kept) + kept);
  }
  const yarnMagnitude = scaling.type === 'yarn' ? 1 + 0.1 * Math.log(scaling.factor) : 1;
  return { radians, magnitude: rope.magnitude * yarnMagnitude };
}

/** Whether a context of that many tokens takes the long factors of longrope. */
export const usesLongFactors = ({ scaling }: RopeConfig, contextTokens: number): boolean =>
  scaling.type === 'longrope' && contextTokens > scaling.originalContext;

/** Share of each pair's frequency that is kept as it is: 1 for pairs that turn often within the original context, 0 for slow ones. */
function yarnRamp(
  { originalContext, betaFast, betaSlow }: { originalContext: number; betaFast: number; betaSlow: number },
  dims: number,
  base: number,
): (pair: number) => number {
  const pairOfTurns = (turns: number) =>
    (dims * Math.log(originalContext / (turns * 2 * Math.PI))) / (2 * Math.log(base));
  const low = Math.max(0, Math.floor(pairOfTurns(betaFast)));
  const high = Math.min(dims - 1, Math.ceil(pairOfTurns(betaSlow)));
  return (pair) => 1 - Math.min(1, Math.max(0, (pair - low) / Math.max(0.001, high - low)));
}
