import { gatedActivation } from '../../../models/testing/reference-math.ts';
import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';
import type { ExpertsConfig } from '../experts.ts';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** A mixture of experts as plain loops: router, the chosen experts one after the other, their weighted sum. */
export function expertsReference(
  { config, weights }: Block<ReferenceWeight, 'experts'>,
  { multiply, activation }: ReferenceContext,
): ReferenceBlock {
  const { count } = config;
  /** Values of one expert. */
  const part = ({ values, inputsAs }: ReferenceWeight, expert: number): ReferenceWeight => {
    const size = values.length / count;
    return { values: values.subarray(expert * size, (expert + 1) * size), inputsAs };
  };
  const withBias = (vector: Float32Array, bias: ReferenceWeight | undefined, expert: number): Float32Array =>
    bias ? vector.map((value, index) => value + part(bias, expert).values[index]!) : vector;
  const silu = activation('silu');
  const clamped = (gate: Float32Array, up: Float32Array): Float32Array =>
    gate.map((value, index) => {
      const open = Math.min(value, 7);
      return open * sigmoid(1.702 * open) * (Math.max(-7, Math.min(up[index]!, 7)) + 1);
    });
  const runExpert = (input: Float32Array, expert: number): Float32Array => {
    const gate = withBias(multiply(part(weights.gate, expert), input), weights.gateBias, expert);
    const up = withBias(multiply(part(weights.up, expert), input), weights.upBias, expert);
    const inner = config.activation === 'silu' ? gatedActivation(silu, gate, up) : clamped(gate, up);
    return withBias(multiply(part(weights.down, expert), inner), weights.downBias, expert);
  };
  return {
    next(input) {
      const logits = multiply(weights.router, input).map(
        (value, index) => value + (weights.routerBias?.values[index] ?? 0),
      );
      const out = new Float32Array(input.length);
      for (const { expert, weight } of route(logits, weights.selectionBias?.values, config)) {
        const given = runExpert(input, expert);
        for (let i = 0; i < out.length; i++) out[i]! += weight * given[i]!;
      }
      if (!weights.sharedGate) return out;
      const inner = gatedActivation(silu, multiply(weights.sharedGate, input), multiply(weights.sharedUp!, input));
      const shared = multiply(weights.sharedDown!, inner);
      return out.map((value, index) => value + shared[index]!);
    },
    truncate: () => undefined,
  };
}

/** The experts of a token and their weights, the best first. */
function route(
  logits: Float32Array,
  bias: Float32Array | undefined,
  { used, routing, weightScale }: ExpertsConfig,
): { expert: number; weight: number }[] {
  const most = logits.reduce((a, b) => Math.max(a, b));
  const scores = Array.from(logits, (logit) => (routing === 'sigmoid' ? sigmoid(logit) : Math.exp(logit - most)));
  const chosen = scores
    .map((score, expert) => ({ expert, score, rank: score + (bias?.[expert] ?? 0) }))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, used);
  const total = chosen.reduce((sum, { score }) => sum + score, 0);
  return chosen.map(({ expert, score }) => ({ expert, weight: (weightScale * score) / total }));
}
