import { ExpertsOnGpu } from '../../../blocks/experts/webgpu/experts-block.ts';
import { DeltaNetOnGpu } from '../../../blocks/delta-net/webgpu/delta-net-block.ts';
import { AttentionOnGpu } from '../../../blocks/attention/webgpu/attention-block.ts';
import type { Block } from '../../../blocks/block.ts';
import { DenseOnGpu } from '../../../blocks/dense/webgpu/dense-block.ts';
import { ShortConvOnGpu } from '../../../blocks/short-conv/webgpu/short-conv-block.ts';
import type { GpuBlock } from './gpu-block.ts';

/** Finds the place of a block's weights. @param label of its layer, for what is made on the device */
export function planBlock(block: Block, label: string): GpuBlock {
  switch (block.kind) {
    case 'attention':
      return new AttentionOnGpu(block, label);
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
