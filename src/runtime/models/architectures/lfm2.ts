import { readAttention } from '../../blocks/attention/attention.ts';
import type { Block } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { readExperts } from '../../blocks/experts/experts.ts';
import { readShortConv } from '../../blocks/short-conv/short-conv.ts';
import { unsupported } from '../gguf/header-cursor.ts';
import { layersOf, type Architecture, type ModelBody } from './architecture.ts';
import type { ModelReader } from './model-reader.ts';
import { readRope } from './read-rope.ts';

/** LFM2 and LFM2.5: short convolutions, and attention in the layers that have key-value heads. */
export const lfm2: Architecture = {
  name: 'lfm2',
  read: (reader) => readLfm2(reader, (layer) => readDense(reader, layer)),
};

/** LFM2 with experts in all layers but the first few. */
export const lfm2moe: Architecture = {
  name: 'lfm2moe',
  read(reader) {
    const dense = reader.integer('leading_dense_block_count', { fallback: 0 });
    const gating = reader.integer('expert_gating_func', { fallback: SIGMOID });
    if (gating !== SIGMOID) throw unsupported(`its experts are chosen by function ${gating}; ${SIGMOID}, sigmoid, is run`);
    return readLfm2(reader, (layer) =>
      layer < dense
        ? readDense(reader, layer)
        : readExperts(reader, layer, { routing: 'sigmoid', selectionBias: true }),
    );
  },
};

/** Number of the sigmoid among llama.cpp's functions of routers. */
const SIGMOID = 2;

function readLfm2(reader: ModelReader, feedForward: (layer: number) => Block): ModelBody {
  const isAttention = (layer: number): boolean => reader.ofLayer('attention.head_count_kv', layer) > 0;
  const first = Array.from({ length: reader.layerCount }, (_, layer) => layer).find(isAttention);
  const rope = first === undefined ? undefined : readRope(reader, 'halves', reader.heads(first).headDim);
  return {
    outputNorm: 'token_embd_norm.weight',
    layers: layersOf(reader.layerCount, (layer) => ({
      blocks: [
        rope && isAttention(layer) ? readAttention(reader, layer, { rope, qkNorm: 'before-rotation' }) : readShortConv(reader, layer),
        feedForward(layer),
      ],
    })),
  };
}
