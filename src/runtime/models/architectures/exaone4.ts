import { readAttention } from '../../blocks/attention/attention.ts';
import type { BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { unsupported } from '../gguf/header-cursor.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope, slidingWindow } from './read-rope.ts';

const branch: BranchConfig = { norm: false, postNorm: true, scale: 1 };

/** EXAONE 4 without sliding windows (1.2B): norms come after attention and feed-forward instead of before. */
export const exaone4: Architecture = {
  name: 'exaone4',
  read(reader) {
    const window = slidingWindow(reader);
    if (window !== undefined) throw unsupported(`its layers have a sliding window of ${window} tokens`);
    const rope = readRope(reader, 'halves');
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, { rope, qkNorm: 'before-rotation', branch }),
          readDense(reader, layer, { branch }),
        ],
      })),
    };
  },
};
