import { rmsNorm, silu } from '../../../models/testing/reference-math.ts';
import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';
import { mamba2Channels } from '../mamba2.ts';

const softplus = (x: number): number => (x > 20 ? x : Math.log1p(Math.exp(x)));

/** Mamba-2 as plain loops; the matrices after every token are kept. */
export function mamba2Reference(
  { config, weights }: Block<ReferenceWeight, 'mamba2'>,
  { config: { normEps }, multiply }: ReferenceContext,
): ReferenceBlock {
  const { heads, headDim, groups, stateDim, kernel } = config;
  const inner = heads * headDim;
  const channels = mamba2Channels(config);
  const inputs: Float32Array[] = [];
  const states: Float64Array[] = [];
  const convolve = (): Float64Array =>
    Float64Array.from({ length: channels }, (_, channel) => {
      let sum = weights.kernelBias.values[channel]!;
      for (let tap = 0; tap < kernel; tap++) {
        const past = inputs[inputs.length - kernel + tap];
        sum += weights.kernel.values[channel * kernel + tap]! * (past?.[channel] ?? 0);
      }
      return silu(sum);
    });
  return {
    next(input) {
      const all = multiply(weights.input, input);
      inputs.push(all.slice(inner, inner + channels));
      const mixed = convolve();
      const state = states.at(-1)?.slice() ?? new Float64Array(inner * stateDim);
      const out = new Float32Array(inner);
      for (let head = 0; head < heads; head++) {
        const group = Math.floor(head / (heads / groups));
        const b = mixed.subarray(inner + group * stateDim, inner + (group + 1) * stateDim);
        const c = mixed.subarray(inner + (groups + group) * stateDim, inner + (groups + group + 1) * stateDim);
        const step = softplus(all[inner + channels + head]! + weights.stepBias.values[head]!);
        const keep = Math.exp(step * weights.decay.values[head]!);
        for (let d = 0; d < headDim; d++) {
          const x = mixed[head * headDim + d]!;
          let given = weights.skip.values[head]! * x;
          for (let s = 0; s < stateDim; s++) {
            const at = (head * headDim + d) * stateDim + s;
            state[at] = state[at]! * keep + x * step * b[s]!;
            given += state[at] * c[s]!;
          }
          out[head * headDim + d] = given * silu(all[head * headDim + d]!);
        }
      }
      states.push(state);
      const width = inner / groups;
      for (let at = 0; at < inner; at += width)
        out.set(rmsNorm(out.slice(at, at + width), weights.groupNorm.values.subarray(at, at + width), normEps), at);
      return multiply(weights.output, out);
    },
    truncate(length) {
      inputs.length = Math.min(inputs.length, length);
      states.length = Math.min(states.length, length);
    },
  };
}
