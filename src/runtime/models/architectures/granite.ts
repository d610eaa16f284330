import { readAttention } from '../../blocks/attention/attention.ts';
import type { Block, BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { readExperts } from '../../blocks/experts/experts.ts';
import { readMamba2 } from '../../blocks/mamba2/mamba2.ts';
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

/** Granite 4, hybrid: Mamba-2 in the layers without key-value heads; a feed-forward, or experts where the layer has a router. */
export const granitehybrid: Architecture = {
  name: 'granitehybrid',
  read: (reader) =>
    readGranite(
      reader,
      (layer, branch) =>
        reader.has(`blk.${layer}.ffn_gate_inp.weight`)
          ? readExperts(reader, layer, { branch, sizeKey: 'feed_forward_length' })
          : readDense(reader, layer, { branch }),
      (layer) => reader.ofLayer('attention.head_count_kv', layer) === 0,
    ),
};

function readGranite(
  reader: ModelReader,
  feedForward: (layer: number, branch: BranchConfig) => Block,
  isMamba: (layer: number) => boolean = () => false,
): ModelBody {
  const isRotated = reader.metadata.get(reader.key('rope.scaling.finetuned')) !== false;
  const attention = Array.from({ length: reader.layerCount }, (_, layer) => layer).find((layer) => !isMamba(layer));
  const rope =
    isRotated && attention !== undefined
      ? readRope(reader, 'interleaved', reader.heads(attention).headDim)
      : undefined;
  const scale = reader.findNumber('attention.scale') ?? 0;
  const branch: BranchConfig = { norm: true, postNorm: false, scale: reader.number('residual_scale') };
  return {
    embeddingScale: reader.number('embedding_scale'),
    logitScale: 1 / reader.positive('logit_scale'),
    layers: layersOf(reader.layerCount, (layer) => ({
      blocks: [
        isMamba(layer)
          ? readMamba2(reader, layer, branch)
          : readAttention(reader, layer, { rope, branch, bias: 'optional', ...(scale > 0 && { scale }) }),
        feedForward(layer, branch),
      ],
    })),
  };
}
