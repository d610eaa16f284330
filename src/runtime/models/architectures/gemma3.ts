import type { Architecture } from './architecture.ts';

/**
 * Gemma 3, text. Five local layers with a sliding window and rotary base 10,000 to one global layer with the file's base and scaling.
 * The "+ 1" of its norms is already in the weights of a GGUF file.
 */
export const gemma3: Architecture = {
  name: 'gemma3',
  rope: 'halves',
  activation: 'gelu-tanh',
  qkNorm: true,
  postNorms: true,
  embeddingScale: (hiddenSize) => Math.sqrt(hiddenSize),
  // The 27B model (62 layers) alone divides by the hidden size per head, which is not its head size.
  attentionScale: ({ hiddenSize, heads, headDim, layers }) => 1 / Math.sqrt(layers === 62 ? hiddenSize / heads : headDim),
  slidingWindow: { globalEvery: 6, localRopeBase: 10_000 },
};
