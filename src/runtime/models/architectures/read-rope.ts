import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { GgufHeader } from '../gguf/header.ts';
import { findString, getInteger, getNumber } from '../gguf/metadata.ts';
import type { Architecture } from './architecture.ts';
import type { RopeConfig, RopeScaling } from './model-config.ts';

/** Of ggml's YaRN, when the file does not say otherwise. */
const YARN_BETA_FAST = 32;
const YARN_BETA_SLOW = 1;

/** Reads rotary positions of the (global) layers from the metadata. */
export function readRope(architecture: Architecture, header: GgufHeader, headDim: number): RopeConfig {
  const { metadata } = header;
  const key = (name: string) => `${architecture.name}.rope.${name}`;
  const dims = getInteger(metadata, key('dimension_count'), { fallback: headDim, least: 2, most: headDim });
  if (dims % 2 !== 0) throw invalid(`the metadata "${key('dimension_count')}" is odd: ${dims}`);
  const base = getNumber(metadata, key('freq_base'), 10_000);
  if (!(base > 0 && Number.isFinite(base))) throw invalid(`the metadata "${key('freq_base')}" is ${base}`);
  const scaling = readScaling(architecture.name, header);
  const factors = scaling.type === 'longrope' ? 'rope_factors_short.weight' : 'rope_freqs.weight';
  return {
    style: architecture.rope,
    dims,
    base,
    scaling,
    magnitude: getNumber(metadata, key('scaling.attn_factor'), 1),
    usesFactors: header.tensors.some(({ name }) => name === factors),
  };
}

function readScaling(name: string, { metadata, tensors }: GgufHeader): RopeScaling {
  const key = (rest: string) => `${name}.rope.scaling.${rest}`;
  const context = getInteger(metadata, `${name}.context_length`, { least: 1 });
  const originalContext = () => getInteger(metadata, key('original_context_length'), { fallback: context, least: 1 });
  const hasLongFactors = tensors.some((tensor) => tensor.name === 'rope_factors_long.weight');
  // Files of Phi-3 carry the tensors and no type.
  const type = findString(metadata, key('type')) ?? (hasLongFactors ? 'longrope' : undefined);
  // Oldest form: a factor under another name, and no type. llama.cpp takes it for linear, too.
  const factor = getNumber(metadata, key('factor'), getNumber(metadata, `${name}.rope.scale_linear`, 1));
  if (!(factor > 0 && Number.isFinite(factor))) throw invalid(`the metadata "${key('factor')}" is ${factor}`);
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
        betaFast: getNumber(metadata, key('yarn_beta_fast'), YARN_BETA_FAST),
        betaSlow: getNumber(metadata, key('yarn_beta_slow'), YARN_BETA_SLOW),
      };
    case 'longrope':
      return { type: 'longrope', originalContext: originalContext() };
    default:
      throw unsupported(`its rotary scaling is "${type}"; none, linear, yarn and longrope are known`);
  }
}
