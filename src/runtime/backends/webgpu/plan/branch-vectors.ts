import type { BoundBlock } from './gpu-block.ts';
import type { BlockRoom } from './plan-parts.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { BranchWeights } from '../../../blocks/block.ts';

/** Gains of a block's branch on the device. */
export function branchVectors(
  { vector, sizes }: BlockRoom,
  label: string,
  { norm, postNorm, outputScale }: BranchWeights<GgufTensorInfo>,
): Pick<BoundBlock, 'norm' | 'postNorm' | 'hasOutputScale'> {
  return {
    ...(norm && { norm: vector(`${label} norm`, sizes.xStride, norm) }),
    ...(postNorm && {
      postNorm: outputScale
        ? vector(`${label} post norm`, sizes.xStride + 4, postNorm, outputScale)
        : vector(`${label} post norm`, sizes.xStride, postNorm),
    }),
    ...(outputScale && { hasOutputScale: true }),
  };
}
