import { readAttention } from '../../blocks/attention/attention.ts';
import type { BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

const branch: BranchConfig = { norm: true, postNorm: true, scale: 1 };

/** GLM-4-0414: norms before and after each block, half of each head rotated, gate and up as one matrix. */
export const glm4: Architecture = {
  name: 'glm4',
  read(reader) {
    const rope = readRope(reader, 'interleaved');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, { rope, bias: 'optional', branch }),
          readDense(reader, layer, { gateUp: 'fused', branch }),
        ],
      })),
    };
  },
};
