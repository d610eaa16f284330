import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import type { RopeConfig } from './model-config.ts';
import type { ModelReader } from './model-reader.ts';
import { readRope } from './read-rope.ts';

/** Ministral 3 and Mistral 3: Llama whose queries grow with the position beyond the original context. */
export const mistral3: Architecture = {
  name: 'mistral3',
  read(reader) {
    const rope = mistralRope(reader);
    const growth = reader.number('attention.temperature_scale', 0);
    const queryGrowth =
      growth === 0 ? undefined : { growth, every: reader.integer('rope.scaling.original_context_length', { least: 1 }) };
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, bias: 'optional', queryGrowth }), readDense(reader, layer)],
      })),
    };
  },
};

/** The magnitude that YaRN brings is divided by one with a multiplier of its own, so that 1 leaves none. */
function mistralRope(reader: ModelReader): RopeConfig {
  const rope = readRope(reader, 'interleaved');
  const multiplier = reader.number('rope.scaling.yarn_log_multiplier', 0);
  if (rope.scaling.type !== 'yarn' || multiplier === 0 || rope.scaling.factor <= 1) return rope;
  return { ...rope, magnitude: rope.magnitude / (1 + 0.1 * multiplier * Math.log(rope.scaling.factor)) };
}
