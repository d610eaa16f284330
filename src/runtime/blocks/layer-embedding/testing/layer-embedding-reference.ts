import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';

/** The embedding of a layer, mixed in by plain loops. */
export function layerEmbeddingReference(
  { config, weights }: Block<ReferenceWeight, 'layer-embedding'>,
  { multiply, activation, layerInputs }: ReferenceContext,
): ReferenceBlock {
  const activate = activation(config.activation);
  return {
    next(input) {
      const own = layerInputs();
      const gated = multiply(weights.gate, input).map((value, index) => activate(value) * own[config.from + index]!);
      return multiply(weights.output, gated);
    },
    truncate: () => undefined,
  };
}
