import { rmsNorm, silu } from '../../../models/testing/reference-math.ts';
import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';
import { deltaNetChannels } from '../delta-net.ts';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const softplus = (x: number): number => (x > 20 ? x : Math.log1p(Math.exp(x)));

/** A gated delta net as plain loops; the matrices after every token are kept. */
export function deltaNetReference(
  { config, weights }: Block<ReferenceWeight, 'delta-net'>,
  { config: { normEps }, multiply }: ReferenceContext,
): ReferenceBlock {
  const { keyHeads, valueHeads, headDim: size, kernel } = config;
  const channels = deltaNetChannels(config);
  const inputs: Float32Array[] = [];
  const states: Float64Array[] = [];
  const unit = (vector: Float64Array): Float64Array => {
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0) + normEps);
    return vector.map((value) => value / length);
  };
  const convolve = (): Float64Array =>
    Float64Array.from({ length: channels }, (_, channel) => {
      let sum = 0;
      for (let tap = 0; tap < kernel; tap++) {
        const past = inputs[inputs.length - kernel + tap];
        sum += weights.kernel.values[channel * kernel + tap]! * (past?.[channel] ?? 0);
      }
      return silu(sum);
    });
  /** Updates the matrix of a head, [key, value], in place. @returns what it gives */
  const headOf = (
    matrix: Float64Array,
    mixed: Float64Array,
    head: number,
    write: number,
    keep: number,
  ): Float64Array => {
    const part = (at: number) => mixed.slice(at * size, (at + 1) * size);
    const query = unit(part(head % keyHeads));
    const key = unit(part(keyHeads + (head % keyHeads)));
    const value = part(2 * keyHeads + head);
    for (let i = 0; i < matrix.length; i++) matrix[i]! *= keep;
    const given = new Float64Array(size);
    for (let j = 0; j < size; j++) {
      let known = 0;
      for (let i = 0; i < size; i++) known += key[i]! * matrix[i * size + j]!;
      const correction = (value[j]! - known) * write;
      for (let i = 0; i < size; i++) {
        matrix[i * size + j]! += key[i]! * correction;
        given[j]! += query[i]! * matrix[i * size + j]!;
      }
    }
    return given.map((sum) => sum / Math.sqrt(size));
  };
  return {
    next(input) {
      inputs.push(multiply(weights.qkv, input));
      const gate = multiply(weights.gate, input);
      const beta = multiply(weights.beta, input);
      const alpha = multiply(weights.alpha, input);
      const mixed = convolve();
      const state = states.at(-1)?.slice() ?? new Float64Array(valueHeads * size * size);
      const out = new Float32Array(valueHeads * size);
      for (let head = 0; head < valueHeads; head++) {
        const keep = Math.exp(softplus(alpha[head]! + weights.alphaBias.values[head]!) * weights.decay.values[head]!);
        const matrix = state.subarray(head * size * size, (head + 1) * size * size);
        const given = headOf(matrix, mixed, head, sigmoid(beta[head]!), keep);
        const normed = rmsNorm(Float32Array.from(given), weights.headNorm.values, normEps);
        for (let j = 0; j < size; j++) out[head * size + j] = normed[j]! * silu(gate[head * size + j]!);
      }
      states.push(state);
      return multiply(weights.output, out);
    },
    truncate(length) {
      inputs.length = Math.min(inputs.length, length);
      states.length = Math.min(states.length, length);
    },
  };
}
