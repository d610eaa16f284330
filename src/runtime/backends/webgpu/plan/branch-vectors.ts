import type { BoundBlock } from './gpu-block.ts';
import type { BlockRoom } from './plan-parts.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { BranchWeights } from '../../../blocks/block.ts';

/** Gains of a block's branch on the device. */
export function branchVectors(
  { vector, sizes }: BlockRoom,
  label: string,
  { norm, postNorm }: BranchWeights<GgufTensorInfo>,
): Pick<BoundBlock, 'norm' | 'postNorm'> {
  return {
    ...(norm && { norm: vector(`${label} norm`, sizes.xStride, norm) }),
    ...(postNorm && { postNorm: vector(`${label} post norm`, sizes.xStride, postNorm) }),
  };
}
