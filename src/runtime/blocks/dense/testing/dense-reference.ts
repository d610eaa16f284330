import { gatedActivation } from '../../../models/testing/reference-math.ts';
import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';

/** A gated feed-forward as plain loops. */
export function denseReference(
  { config, weights }: Block<ReferenceWeight, 'dense'>,
  { multiply, activation }: ReferenceContext,
): ReferenceBlock {
  const activate = activation(config.activation);
  return {
    next(input) {
      const both = weights.gateUp && multiply(weights.gateUp, input);
      const gate = both?.subarray(0, config.size) ?? multiply(weights.gate!, input);
      const up = both?.subarray(config.size) ?? multiply(weights.up!, input);
      return multiply(weights.down, gatedActivation(activate, gate, up));
    },
    truncate: () => undefined,
  };
}
