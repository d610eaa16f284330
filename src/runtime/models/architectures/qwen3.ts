import type { Architecture } from './architecture.ts';

/** Qwen3, dense: no biases, but an RMSNorm on each query and key head. */
export const qwen3: Architecture = { name: 'qwen3', rope: 'halves', activation: 'silu', qkNorm: true };
