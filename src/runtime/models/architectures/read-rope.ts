import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { RopeConfig, RopeScaling, RopeStyle } from './model-config.ts';
import type { ModelReader } from './model-reader.ts';

/** Of ggml's YaRN, when the file does not say otherwise. */
const YARN_BETA_FAST = 32;
const YARN_BETA_SLOW = 1;

/** Reads rotary positions of the (global) layers from the metadata. @param headDim of the heads that are rotated. @default that of the first layer */
export function readRope(reader: ModelReader, style: RopeStyle, headDim = reader.heads(0).headDim): RopeConfig {
  const dims = reader.integer('rope.dimension_count', { fallback: headDim, least: 2, most: headDim });
  if (dims % 2 !== 0) throw invalid(`the metadata "${reader.key('rope.dimension_count')}" is odd: ${dims}`);
  const scaling = readScaling(reader);
  return {
    style,
    dims,
    base: reader.positive('rope.freq_base', 10_000),
    scaling,
    magnitude: reader.number('rope.scaling.attn_factor', 1),
    usesFactors: reader.has(scaling.type === 'longrope' ? 'rope_factors_short.weight' : 'rope_freqs.weight'),
  };
}

/** Tokens of the sliding window; undefined where the file sets none. */
export function slidingWindow(reader: ModelReader): number | undefined {
  const window = reader.integer('attention.sliding_window', { fallback: 0 });
  return window === 0 ? undefined : window;
}

function readScaling(reader: ModelReader): RopeScaling {
  const originalContext = () =>
    reader.integer('rope.scaling.original_context_length', { fallback: reader.contextTokens, least: 1 });
  // Files of Phi-3 carry the tensors and no type.
  const type = reader.findString('rope.scaling.type') ?? (reader.has('rope_factors_long.weight') ? 'longrope' : undefined);
  // Oldest form: a factor under another name, and no type. llama.cpp takes it for linear, too.
  const factor = reader.positive('rope.scaling.factor', reader.number('rope.scale_linear', 1));
  switch (type) {
    case 'none':
      return { type: 'none' };
    case undefined:
    case 'linear':
      return factor === 1 ? { type: 'none' } : { type: 'linear', factor };
    case 'yarn':
      return {
        type: 'yarn',
        factor,
        originalContext: originalContext(),
        betaFast: reader.number('rope.scaling.yarn_beta_fast', YARN_BETA_FAST),
        betaSlow: reader.number('rope.scaling.yarn_beta_slow', YARN_BETA_SLOW),
      };
    case 'longrope':
      return { type: 'longrope', originalContext: originalContext() };
    default:
      throw unsupported(`its rotary scaling is "${type}"; none, linear, yarn and longrope are known`);
  }
}
