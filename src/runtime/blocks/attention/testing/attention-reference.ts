import { attend, rmsNorm, rotate } from '../../../models/testing/reference-math.ts';
import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';

/** Attention as plain loops: keys and values of every token in f32. */
export function attentionReference(
  { config, weights }: Block<ReferenceWeight, 'attention'>,
  { config: { normEps }, multiply, rope, kv }: ReferenceContext,
  layer: number,
): ReferenceBlock {
  const { heads, kvHeads, headDim, scale, window, gated, softcap, normAfterRotation } = config;
  const frequencies = config.rope && rope(config.rope);
  const isShared = config.sharedLayer !== undefined;
  const { keys, values } = kv.get(config.sharedLayer ?? layer) ?? { keys: [], values: [] };
  kv.set(layer, { keys, values });
  const growthAt = (position: number): number => {
    const { growth, every } = config.queryGrowth ?? { growth: 0, every: 1 };
    return 1 + growth * Math.log(1 + Math.floor(position / every));
  };
  const project = (matrix: ReferenceWeight, bias: ReferenceWeight | undefined, input: Float32Array): Float32Array => {
    const vector = multiply(matrix, input);
    return bias === undefined ? vector : vector.map((value, index) => value + bias.values[index]!);
  };
  const projectAll = (
    input: Float32Array,
  ): { q: Float32Array; k: Float32Array; v: Float32Array; gates?: Float32Array } => {
    const [qSize, kvSize] = [heads * headDim, kvHeads * headDim];
    if (weights.qkv !== undefined) {
      const all = multiply(weights.qkv, input);
      return { q: all.slice(0, qSize), k: all.slice(qSize, qSize + kvSize), v: all.slice(qSize + kvSize) };
    }
    const q = project(weights.q!, weights.qBias, input);
    return {
      ...(gated ? splitGates(q, headDim) : { q }),
      k: weights.k ? project(weights.k, weights.kBias, input) : new Float32Array(0),
      v: weights.v ? project(weights.v, weights.vBias, input) : new Float32Array(0),
    };
  };
  return {
    next(input) {
      // The layer whose keys and values these are has had this token already.
      const position = keys.length - (isShared ? 1 : 0);
      const { q, k, v, gates } = projectAll(input);
      for (const [vector, norm] of [
        [q, weights.qNorm],
        [k, weights.kNorm],
      ] as const) {
        for (let at = 0; at < vector.length; at += headDim) {
          const head = vector.subarray(at, at + headDim);
          if (norm && !normAfterRotation) head.set(rmsNorm(head, norm.values, normEps));
          if (config.rope) rotate(head, position, config.rope.style, frequencies!);
          if (norm && normAfterRotation) head.set(rmsNorm(head, norm.values, normEps));
        }
      }
      if (!isShared) {
        keys.push(k);
        values.push(config.valueNorm ? normHeads(v, headDim, normEps) : v);
      }
      const from = window === undefined ? 0 : Math.max(0, position + 1 - window);
      const mixed = attend(q, keys.slice(from), values.slice(from), {
        heads,
        kvHeads,
        headDim,
        scale: scale * growthAt(position),
        softcap,
        sinks: weights.sinks?.values,
      });
      const open = gates?.map((gate) => 1 / (1 + Math.exp(-gate)));
      return project(
        weights.output,
        weights.outputBias,
        open ? mixed.map((value, index) => value * open[index]!) : mixed,
      );
    },
    truncate(length) {
      keys.length = Math.min(keys.length, length);
      values.length = Math.min(values.length, length);
    },
  };
}

/** RMSNorm of each head, without a gain. */
function normHeads(vector: Float32Array, headDim: number, eps: number): Float32Array {
  const gains = new Float32Array(headDim).fill(1);
  const out = new Float32Array(vector.length);
  for (let at = 0; at < vector.length; at += headDim)
    out.set(rmsNorm(vector.subarray(at, at + headDim), gains, eps), at);
  return out;
}

/** Rows of each head's query are followed by those of its gate. */
function splitGates(both: Float32Array, headDim: number): { q: Float32Array; gates: Float32Array } {
  const pick = (isGate: number) => both.filter((_, index) => Math.floor(index / headDim) % 2 === isGate);
  return { q: pick(0), gates: pick(1) };
}
