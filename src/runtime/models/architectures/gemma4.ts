import { readAttention, type AttentionOptions } from '../../blocks/attention/attention.ts';
import type { BranchConfig } from '../../blocks/block.ts';
import { readDense } from '../../blocks/dense/dense.ts';
import { readLayerEmbedding } from '../../blocks/layer-embedding/layer-embedding.ts';
import { invalid, unsupported } from '../gguf/header-cursor.ts';
import { layersOf, type Architecture } from './architecture.ts';
import type { RopeConfig } from './model-config.ts';
import type { ModelReader } from './model-reader.ts';
import { readRope } from './read-rope.ts';

const branch: BranchConfig = { norm: true, postNorm: true, scale: 1 };

/**
 * Gemma 4, dense, text (E2B, E4B): local layers with narrower heads and a rotary base of their own; the last layers use the keys and values of
 * the last local or global layer that has its own; each layer has an embedding of its own for each token.
 */
export const gemma4: Architecture = {
  name: 'gemma4',
  read(reader) {
    const width = reader.integer('embedding_length_per_layer_input', { fallback: 0 });
    if (width === 0) throw unsupported('it has no embeddings by layer, as the dense models E2B and E4B have');
    const isLocal = localLayers(reader);
    const window = reader.integer('attention.sliding_window', { least: 1 });
    const { layerCount } = reader;
    const own = layerCount - reader.integer('attention.shared_kv_layers', { fallback: 0, most: layerCount - 1 });
    const headDims = {
      global: reader.integer('attention.key_length', { least: 1 }),
      local: reader.integer('attention.key_length_swa', { least: 1 }),
    };
    const ropes = { global: readRope(reader, 'halves', headDims.global), local: localRope(reader, headDims.local) };
    return {
      embeddingScale: Math.sqrt(reader.hiddenSize),
      logitCap: reader.findNumber('final_logit_softcapping') || undefined,
      layerEmbedding: width,
      layers: layersOf(layerCount, (layer) => {
        const kind = isLocal[layer] ? 'local' : 'global';
        const last = isLocal.slice(0, own).lastIndexOf(isLocal[layer]!);
        if (layer >= own && last < 0) throw invalid(`layer ${layer} shares keys and values, and no ${kind} layer before has any`);
        const options: AttentionOptions = {
          headDim: headDims[kind],
          rope: ropes[kind],
          window: isLocal[layer] ? window : undefined,
          scale: 1,
          qkNorm: 'before-rotation',
          valueNorm: true,
          ...(layer >= own && { sharedLayer: last }),
          branch,
        };
        return {
          blocks: [
            readAttention(reader, layer, options),
            readDense(reader, layer, { activation: 'gelu-tanh', branch }),
            readLayerEmbedding(reader, layer, width),
          ],
        };
      }),
    };
  },
};

/** Which layers have a sliding window. */
function localLayers(reader: ModelReader): readonly boolean[] {
  const name = 'attention.sliding_window_pattern';
  const pattern = reader.metadata.get(reader.key(name));
  const list = ArrayBuffer.isView(pattern) || Array.isArray(pattern) ? Array.from(pattern as ArrayLike<unknown>, Boolean) : [];
  if (list.length !== reader.layerCount)
    throw invalid(`the metadata "${reader.key(name)}" has ${list.length} values, and the model ${reader.layerCount} layers`);
  return list;
}

function localRope(reader: ModelReader, headDim: number): RopeConfig {
  return {
    style: 'halves',
    dims: reader.integer('rope.dimension_count_swa', { fallback: headDim, least: 2, most: headDim }),
    base: reader.positive('rope.freq_base_swa', 10_000),
    scaling: { type: 'none' },
    magnitude: 1,
    usesFactors: false,
  };
}
