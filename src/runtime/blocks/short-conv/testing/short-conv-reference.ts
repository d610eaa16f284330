import type { Block } from '../../block.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../testing/block-reference.ts';

/** A gated short convolution as plain loops; B * X of every token is kept. */
export function shortConvReference(
  { config, weights }: Block<ReferenceWeight, 'short-conv'>,
  { multiply }: ReferenceContext,
): ReferenceBlock {
  const { width, kernel } = config;
  const history: Float32Array[] = [];
  return {
    next(input) {
      const all = multiply(weights.input, input);
      const [b, c, x] = [0, 1, 2].map((part) => all.subarray(part * width, (part + 1) * width)) as [
        Float32Array,
        Float32Array,
        Float32Array,
      ];
      history.push(b.map((value, channel) => value * x[channel]!));
      const mixed = c.map((gate, channel) => {
        let sum = 0;
        for (let tap = 0; tap < kernel; tap++) {
          const past = history[history.length - kernel + tap];
          sum += weights.kernel.values[channel * kernel + tap]! * (past?.[channel] ?? 0);
        }
        return gate * sum;
      });
      return multiply(weights.output, mixed);
    },
    truncate(length) {
      history.length = Math.min(history.length, length);
    },
  };
}
