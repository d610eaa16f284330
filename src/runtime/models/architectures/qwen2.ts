import type { Architecture } from './architecture.ts';

/** Qwen2 and Qwen2.5: Llama with biases on query, key and value. */
export const qwen2: Architecture = { name: 'qwen2', rope: 'halves', activation: 'silu', qkvBias: 'required' };
