import { readAttention } from '../../blocks/attention/attention.ts';
import { readDeltaNet } from '../../blocks/delta-net/delta-net.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

/**
 * Qwen3.5, dense, text: gated delta nets, and in each fourth layer gated attention, of whose heads a part is rotated. The sections of its
 * rotation are for pictures; positions of text are the same in all of them. Blocks that predict more than the next token, at the end of
 * the file, are left out.
 */
export const qwen35: Architecture = {
  name: 'qwen35',
  read(reader) {
    const rope = readRope(reader, 'halves');
    const attentionEvery = reader.integer('full_attention_interval', { fallback: 4, least: 1 });
    const predictors = reader.integer('nextn_predict_layers', { fallback: 0, most: reader.layerCount - 1 });
    const layers = reader.layerCount - predictors;
    for (let layer = layers; layer < reader.layerCount; layer++) reader.leaveOut(`blk.${layer}.`);
    return {
      layers: layersOf(layers, (layer) => ({
        blocks: [
          (layer + 1) % attentionEvery === 0
            ? readAttention(reader, layer, { rope, qkNorm: 'before-rotation', gated: true })
            : readDeltaNet(reader, layer),
          readDense(reader, layer, { norm: 'post_attention_norm' }),
        ],
      })),
    };
  },
};
