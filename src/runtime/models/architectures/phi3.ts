import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope, slidingWindow } from './read-rope.ts';

/**
 * Phi-3, Phi-3.5 and Phi-4 mini: fused projections, and "longrope" factors in the long-context ones. The sliding window is followed as
 * in the original model; llama.cpp switches it off, so results differ from it beyond the window.
 */
export const phi3: Architecture = {
  name: 'phi3',
  read(reader) {
    const rope = readRope(reader, 'halves');
    const window = slidingWindow(reader);
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, { rope, window, qkv: 'fused' }),
          readDense(reader, layer, { gateUp: 'fused' }),
        ],
      })),
    };
  },
};
