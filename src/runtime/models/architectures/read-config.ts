import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { GgufHeader, GgufMetadata } from '../gguf/header.ts';
import { findNumber, getInteger, getNumber } from '../gguf/metadata.ts';
import type { Architecture } from './architecture.ts';
import type { LayerConfig, ModelConfig } from './model-config.ts';
import { readRope } from './read-rope.ts';

/** More than any model has, and little enough that sizes multiply without overflow and plans stay small. */
const MOST_LAYERS = 1024;
const MOST_WIDTH = 2 ** 20;
const MOST_HEADS = 4096;
const MOST_CONTEXT = 2 ** 26;

/** Reads the configuration of a model of that architecture from the metadata and from which tensors there are. */
export function readConfig(architecture: Architecture, header: GgufHeader): ModelConfig {
  const { metadata } = header;
  const key = (name: string) => `${architecture.name}.${name}`;
  const refused = architecture.refuse?.(metadata);
  if (refused !== undefined) throw unsupported(refused);

  const layers = getInteger(metadata, key('block_count'), { least: 1, most: MOST_LAYERS });
  const hiddenSize = getInteger(metadata, key('embedding_length'), { least: 1, most: MOST_WIDTH });
  const heads = sameForAllLayers(metadata, key('attention.head_count'));
  const kvHeads = sameForAllLayers(metadata, key('attention.head_count_kv'), heads);
  const headDim = readHeadDim(architecture, metadata, hiddenSize, heads);
  if (heads % kvHeads !== 0) throw invalid(`${heads} heads cannot share ${kvHeads} key-value heads`);
  const names = new Set(header.tensors.map((tensor) => tensor.name));
  const sizes = { hiddenSize, heads, headDim, layers };
  const normEps = getNumber(metadata, key('attention.layer_norm_rms_epsilon'));
  if (!(normEps >= 0 && normEps < 1)) throw invalid(`the metadata "${key('attention.layer_norm_rms_epsilon')}" is ${normEps}`);
  const softcap = findNumber(metadata, key('final_logit_softcapping')) ?? 0;
  if (softcap !== 0) throw unsupported(`it caps its logits softly (${softcap})`);

  return {
    architecture: architecture.name,
    layers: readLayers(architecture, header, layers, headDim),
    hiddenSize,
    heads,
    kvHeads,
    headDim,
    ffnSize: sameForAllLayers(metadata, key('feed_forward_length'), undefined, MOST_WIDTH),
    vocabSize: header.tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1] ?? 0,
    contextTokens: getInteger(metadata, key('context_length'), { least: 1, most: MOST_CONTEXT }),
    normEps,
    activation: architecture.activation,
    embeddingScale: architecture.embeddingScale?.(hiddenSize) ?? 1,
    attentionScale: architecture.attentionScale?.(sizes) ?? 1 / Math.sqrt(headDim),
    qkvBias: hasQkvBias(architecture, names),
    qkNorm: architecture.qkNorm ?? false,
    fusedQkv: architecture.qkv === 'fused',
    fusedGateUp: architecture.gateUp === 'fused',
    postNorms: architecture.postNorms ?? false,
    tiedOutput: !names.has('output.weight'),
  };
}

function hasQkvBias({ qkvBias }: Architecture, names: ReadonlySet<string>): boolean {
  return qkvBias === 'required' || (qkvBias === 'optional' && names.has('blk.0.attn_q.bias'));
}

function readHeadDim({ name }: Architecture, metadata: GgufMetadata, hiddenSize: number, heads: number): number {
  const fallback = hiddenSize / heads;
  const limits = { fallback, least: 1, most: MOST_WIDTH };
  const headDim = getInteger(metadata, `${name}.attention.key_length`, limits);
  const valueDim = getInteger(metadata, `${name}.attention.value_length`, limits);
  if (headDim !== valueDim) throw unsupported(`its keys have ${headDim} elements and its values ${valueDim}`);
  return headDim;
}

/** Some models give an array with a number per layer; only equal ones are run. */
function sameForAllLayers(metadata: GgufMetadata, key: string, fallback?: number, most = MOST_HEADS): number {
  const value = metadata.get(key);
  if (ArrayBuffer.isView(value) && value.length > 0) {
    const [first, ...rest] = Array.from(value, Number);
    if (rest.some((other) => other !== first)) throw unsupported(`its layers differ in "${key}"`);
    return getInteger(new Map([[key, first!]]), key, { least: 1, most });
  }
  return getInteger(metadata, key, { ...(fallback === undefined ? {} : { fallback }), least: 1, most });
}

function readLayers(architecture: Architecture, header: GgufHeader, count: number, headDim: number): LayerConfig[] {
  const { metadata } = header;
  const { slidingWindow } = architecture;
  const rope = readRope(architecture, header, headDim);
  const windowKey = `${architecture.name}.attention.sliding_window`;
  const window = slidingWindow === undefined ? 0 : getInteger(metadata, windowKey, { fallback: 0 });
  const localRope =
    slidingWindow?.localRopeBase === undefined
      ? rope
      : { ...rope, base: slidingWindow.localRopeBase, scaling: { type: 'none' } as const, magnitude: 1 };
  return Array.from({ length: count }, (_, layer) => {
    const isGlobal = window === 0 || (slidingWindow?.globalEvery ? (layer + 1) % slidingWindow.globalEvery === 0 : false);
    return isGlobal ? { rope } : { rope: localRope, window };
  });
}
