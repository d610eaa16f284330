import type { Architecture } from './architecture.ts';

/** Llama 2, 3, 3.2, TinyLlama, SmolLM2, Mistral. Converters reorder rows of q and k, so that rotated pairs lie side by side. */
export const llama: Architecture = {
  name: 'llama',
  rope: 'interleaved',
  activation: 'silu',
  qkvBias: 'optional',
  slidingWindow: {},
  refuse: (metadata) =>
    Number(metadata.get('llama.expert_count') ?? 0) > 0 ? 'it is a mixture of experts; use a dense model' : undefined,
};
