import { readAttention } from '../../blocks/attention/attention.ts';
import { readExperts } from '../../blocks/experts/experts.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope, slidingWindow } from './read-rope.ts';

/** gpt-oss: a mixture of experts with biases, attention with sinks, and a sliding window in every other layer, from the first on. */
export const gptOss: Architecture = {
  name: 'gpt-oss',
  read(reader) {
    const rope = readRope(reader, 'halves');
    const window = slidingWindow(reader);
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [
          readAttention(reader, layer, {
            rope,
            window: layer % 2 === 0 ? window : undefined,
            bias: 'required',
            outputBias: true,
            sinks: true,
          }),
          readExperts(reader, layer, { bias: true, activation: 'clamped', norm: 'post_attention_norm' }),
        ],
      })),
    };
  },
};
