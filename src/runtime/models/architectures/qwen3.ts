import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** Qwen3, dense: no biases, but an RMSNorm on each query and key head. */
export const qwen3: Architecture = {
  name: 'qwen3',
  read(reader) {
    const rope = readRope(reader, 'halves');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, qkNorm: 'before-rotation' }), readDense(reader, layer)],
      })),
    };
  },
};
