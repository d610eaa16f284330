import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** Hunyuan, dense: query and key heads are normed after their rotation. */
export const hunyuanDense: Architecture = {
  name: 'hunyuan-dense',
  read(reader) {
    const rope = readRope(reader, 'halves');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, qkNorm: 'after-rotation' }), readDense(reader, layer)],
      })),
    };
  },
};
