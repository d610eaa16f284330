import { readAttention } from '../../blocks/attention/attention.ts';
import type { BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope } from './read-rope.ts';

const branch: BranchConfig = { norm: true, postNorm: true, scale: 1 };
/** What llama.cpp takes where a file says nothing. */
const DEFAULT_WINDOW = 4096;
const DEFAULT_SCORE_CAP = 50;
const DEFAULT_LOGIT_CAP = 30;

/** Gemma 2: every other layer, from the first on, has a sliding window; scores and logits are capped softly. */
export const gemma2: Architecture = {
  name: 'gemma2',
  read(reader) {
    const rope = readRope(reader, 'halves');
    const window = reader.integer('attention.sliding_window', { fallback: DEFAULT_WINDOW, least: 1 });
    const { heads, headDim } = reader.heads(0);
    // The 27B model (46 layers) alone divides by the hidden size per head, which is not its head size.
    const scale = 1 / Math.sqrt(reader.layerCount === 46 ? reader.hiddenSize / heads : headDim);
    const softcap = reader.positive('attn_logit_softcapping', DEFAULT_SCORE_CAP);
    return {
      embeddingScale: Math.sqrt(reader.hiddenSize),
      logitCap: reader.positive('final_logit_softcapping', DEFAULT_LOGIT_CAP),
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, { rope, window: layer % 2 === 0 ? window : undefined, scale, softcap, branch }),
          readDense(reader, layer, { activation: 'gelu-tanh', branch }),
        ],
      })),
    };
  },
};
