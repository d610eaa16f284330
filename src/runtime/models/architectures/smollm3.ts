import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** Every so many layers one is not rotated. */
const PLAIN_EVERY = 4;

/** SmolLM3: Llama without rotation in each fourth layer. */
export const smollm3: Architecture = {
  name: 'smollm3',
  read(reader) {
    const rope = readRope(reader, 'interleaved');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, { rope: (layer + 1) % PLAIN_EVERY === 0 ? undefined : rope }),
          readDense(reader, layer),
        ],
      })),
    };
  },
};
