import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** ERNIE 4.5, dense: as Llama. */
export const ernie4_5: Architecture = {
  name: 'ernie4_5',
  read(reader) {
    const rope = readRope(reader, 'interleaved');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, bias: 'optional' }), readDense(reader, layer)],
      })),
    };
  },
};
