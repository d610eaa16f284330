import { readAttention } from '../../blocks/attention/attention.ts';
import type { BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope, slidingWindow } from './read-rope.ts';

const branch: BranchConfig = { norm: true, postNorm: true, scale: 1 };
const GLOBAL_EVERY = 6;
const LOCAL_ROPE_BASE = 10_000;

/**
 * Gemma 3, text. Five local layers with a sliding window and rotary base 10,000 to one global layer with the file's base and scaling.
 * The "+ 1" of its norms is already in the weights of a GGUF file.
 */
export const gemma3: Architecture = {
  name: 'gemma3',
  read(reader) {
    const rope = readRope(reader, 'halves');
    const localRope = { ...rope, base: LOCAL_ROPE_BASE, scaling: { type: 'none' } as const, magnitude: 1 };
    const window = slidingWindow(reader);
    const { heads, headDim } = reader.heads(0);
    // The 27B model (62 layers) alone divides by the hidden size per head, which is not its head size.
    const scale = 1 / Math.sqrt(reader.layerCount === 62 ? reader.hiddenSize / heads : headDim);
    return {
      embeddingScale: Math.sqrt(reader.hiddenSize),
      layers: layersOf(reader.layerCount, (layer) => {
        const isGlobal = window === undefined || (layer + 1) % GLOBAL_EVERY === 0;
        const reach = isGlobal ? { rope } : { rope: localRope, window };
        return {
          blocks: [
            readAttention(reader, layer, { ...reach, scale, qkNorm: 'before-rotation', branch }),
            readDense(reader, layer, { activation: 'gelu-tanh', branch }),
          ],
        };
      }),
    };
  },
};
