import { readAttention } from '../../blocks/attention/attention.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { unsupported } from '../gguf/header-cursor.ts';
import { layersOf, type Architecture } from './architecture.ts';
import { readRope, slidingWindow } from './read-rope.ts';

/** Llama 2, 3, 3.2, TinyLlama, SmolLM2, Mistral. Converters reorder rows of q and k, so that rotated pairs lie side by side. */
export const llama: Architecture = {
  name: 'llama',
  read(reader) {
    if ((reader.findNumber('expert_count') ?? 0) > 0)
      throw unsupported('it is a mixture of experts; use a dense model');
    const rope = readRope(reader, 'interleaved');
    const window = slidingWindow(reader);
    return {
      layers: layersOf(reader.layerCount, (layer) => ({
        blocks: [readAttention(reader, layer, { rope, window, bias: 'optional' }), readDense(reader, layer)],
      })),
    };
  },
};
