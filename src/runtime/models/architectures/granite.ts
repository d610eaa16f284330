import { readAttention } from '../../blocks/attention/attention.ts';
import type { Block, BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { readExperts } from '../../blocks/experts/experts.ts';
import { layersOf, type Architecture, type ModelBody } from './architecture.ts';
import type { ModelReader } from './model-reader.ts';
import { readRope } from './read-rope.ts';

/** Granite 3 and 4, dense: Llama with multipliers of the embedding, of attention, of each branch and of the logits. */
export const granite: Architecture = {
  name: 'granite',
  read: (reader) => readGranite(reader, (layer, branch) => readDense(reader, layer, { branch })),
};

/** Granite with a mixture of experts, whose width is that of a feed-forward. */
export const granitemoe: Architecture = {
  name: 'granitemoe',
  read: (reader) =>
    readGranite(reader, (layer, branch) => readExperts(reader, layer, { branch, sizeKey: 'feed_forward_length' })),
};

/** MiniCPM: Llama with the same multipliers, but for that of attention. */
export const minicpm: Architecture = { name: 'minicpm', read: granite.read };

function readGranite(reader: ModelReader, feedForward: (layer: number, branch: BranchConfig) => Block): ModelBody {
  const isRotated = reader.metadata.get(reader.key('rope.scaling.finetuned')) !== false;
  const rope = isRotated ? readRope(reader, 'interleaved') : undefined;
  const scale = reader.findNumber('attention.scale') ?? 0;
  const branch: BranchConfig = { norm: true, postNorm: false, scale: reader.number('residual_scale') };
  return {
    embeddingScale: reader.number('embedding_scale'),
    logitScale: 1 / reader.positive('logit_scale'),
    layers: layersOf(reader.layerCount, (layer) => ({
      blocks: [
        readAttention(reader, layer, { rope, branch, bias: 'optional', ...(scale > 0 && { scale }) }),
        feedForward(layer, branch),
      ],
    })),
  };
}
