import { readAttention } from '../../blocks/attention/attention.ts';
import { readExperts } from '../../blocks/experts/experts.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** Qwen3, mixture of experts. */
export const qwen3moe: Architecture = {
  name: 'qwen3moe',
  read(reader) {
    const rope = readRope(reader, 'halves');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, qkNorm: 'before-rotation' }), readExperts(reader, layer)],
      })),
    };
  },
};
