import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { readShortConv } from '../../blocks/short-conv/short-conv.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/** LFM2 and LFM2.5: short convolutions, and attention in the layers that have key-value heads. */
export const lfm2: Architecture = {
  name: 'lfm2',
  read(reader) {
    const isAttention = (layer: number): boolean => reader.ofLayer('attention.head_count_kv', layer) > 0;
    const first = Array.from({ length: reader.layerCount }, (_, layer) => layer).find(isAttention);
    const rope = first === undefined ? undefined : readRope(reader, 'halves', reader.heads(first).headDim);
    return {
      outputNorm: 'token_embd_norm.weight',
      layers: layersOf(reader, (layer) => ({
        blocks: [
          rope && isAttention(layer)
            ? readAttention(reader, layer, { rope, qkNorm: true })
            : readShortConv(reader, layer),
          readDense(reader, layer),
        ],
      })),
    };
  },
};
