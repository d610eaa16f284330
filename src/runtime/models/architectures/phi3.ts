import type { Architecture } from './architecture.ts';

/**
 * Phi-3, Phi-3.5 and Phi-4 mini: fused projections, and "longrope" factors in the long-context ones. The sliding window is followed as
 * in the original model; llama.cpp switches it off, so results differ from it beyond the window.
 */
export const phi3: Architecture = {
  name: 'phi3',
  rope: 'halves',
  activation: 'silu',
  qkv: 'fused',
  gateUp: 'fused',
  slidingWindow: {},
};
