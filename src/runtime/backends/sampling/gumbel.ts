/**
 * Counter-based noise: a pure function of (seed, position, token id), so that nothing has to be carried from token to token, and
 * the CPU and the GPU draw the same numbers. The hash is pcg3d (Jarzynski and Olano, "Hash Functions for GPU Rendering", JCGT
 * 9(3), 2020): three rounds of multiply-add between three words; it needs no 64-bit product, which WGSL does not have.
 */

const LCG_MULTIPLIER = 1664525;
const LCG_INCREMENT = 1013904223;

/** 32 bits of noise as an unsigned integer. All three arguments are taken as unsigned 32-bit. */
export function noise(seed: number, position: number, token: number): number {
  let x = (Math.imul(token, LCG_MULTIPLIER) + LCG_INCREMENT) | 0;
  let y = (Math.imul(position, LCG_MULTIPLIER) + LCG_INCREMENT) | 0;
  let z = (Math.imul(seed, LCG_MULTIPLIER) + LCG_INCREMENT) | 0;
  x = (x + Math.imul(y, z)) | 0;
  y = (y + Math.imul(z, x)) | 0;
  z = (z + Math.imul(x, y)) | 0;
  x ^= x >>> 16;
  y ^= y >>> 16;
  z ^= z >>> 16;
  x = (x + Math.imul(y, z)) | 0;
  y = (y + Math.imul(z, x)) | 0;
  z = (z + Math.imul(x, y)) | 0;
  return z >>> 0;
}

/**
 * A standard Gumbel variate from 32 bits of noise. log1p keeps the precision of small w, where the large variates (those that
 * win) come from.
 */
export function gumbelOf(bits: number): number {
  return -Math.log(-Math.log1p(-(bits + 0.5) * 2 ** -32));
}

/** A bound of {@link gumbelOf} that takes no logarithm: -log1p(-w) >= w >= 2^(-1 - leading zeros). */
export function gumbelBound(bits: number): number {
  return (Math.clz32(bits) + 1) * Math.LN2 + 1e-9;
}

/** No {@link gumbelOf} is above this: -log(-log1p(-2^-33)) is 22.874. */
export const MAX_GUMBEL = 22.875;
