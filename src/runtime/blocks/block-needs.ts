import { mamba2Needs } from './mamba2/mamba2.ts';
import { layerEmbeddingNeeds } from './layer-embedding/layer-embedding.ts';
import { expertsNeeds } from './experts/experts.ts';
import { deltaNetNeeds } from './delta-net/delta-net.ts';
import { attentionNeeds } from './attention/attention.ts';
import type { BlockConfig, BlockNeeds } from './block.ts';
import { denseNeeds } from './dense/dense.ts';
import { shortConvNeeds } from './short-conv/short-conv.ts';

/** What a block needs of a backend. */
export function blockNeeds(config: BlockConfig): BlockNeeds {
  switch (config.kind) {
    case 'attention':
      return attentionNeeds(config);
    case 'layer-embedding':
      return layerEmbeddingNeeds(config);
    case 'mamba2':
      return mamba2Needs(config);
    case 'experts':
      return expertsNeeds(config);
    case 'delta-net':
      return deltaNetNeeds(config);
    case 'short-conv':
      return shortConvNeeds(config);
    case 'dense':
      return denseNeeds(config);
  }
}
