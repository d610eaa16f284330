import { Mamba2OnGpu } from '../../../blocks/mamba2/webgpu/mamba2-block.ts';
import { LayerEmbeddingOnGpu } from '../../../blocks/layer-embedding/webgpu/layer-embedding-block.ts';
import { ExpertsOnGpu } from '../../../blocks/experts/webgpu/experts-block.ts';
import { DeltaNetOnGpu } from '../../../blocks/delta-net/webgpu/delta-net-block.ts';
import { AttentionOnGpu } from '../../../blocks/attention/webgpu/attention-block.ts';
import type { Block } from '../../../blocks/block.ts';
import { DenseOnGpu } from '../../../blocks/dense/webgpu/dense-block.ts';
import { ShortConvOnGpu } from '../../../blocks/short-conv/webgpu/short-conv-block.ts';
import type { GpuBlock } from './gpu-block.ts';

/** Finds the place of a block's weights. */
export function planBlock(block: Block, layer: number): GpuBlock {
  const label = `layer ${layer}`;
  switch (block.kind) {
    case 'attention':
      return new AttentionOnGpu(block, layer);
    case 'layer-embedding':
      return new LayerEmbeddingOnGpu(block, label);
    case 'mamba2':
      return new Mamba2OnGpu(block, label);
    case 'experts':
      return new ExpertsOnGpu(block, label);
    case 'delta-net':
      return new DeltaNetOnGpu(block, label);
    case 'short-conv':
      return new ShortConvOnGpu(block, label);
    case 'dense':
      return new DenseOnGpu(block, label);
  }
}
