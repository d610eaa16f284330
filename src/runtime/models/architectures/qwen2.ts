import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** Qwen2 and Qwen2.5: Llama with biases on query, key and value. */
export const qwen2: Architecture = {
  name: 'qwen2',
  read(reader) {
    const rope = readRope(reader, 'halves');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, bias: 'required' }), readDense(reader, layer)],
      })),
    };
  },
};
