import type { LayerWeights, ModelDescription } from '../../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { GpuContext } from '../device.ts';
import { splitWords } from '../kernels/attention/attention.ts';
import type { StepLayout } from '../step-layout.ts';
import type { LoadedWeights } from '../weights/load-weights.ts';
import { modelSizes } from './model-sizes.ts';
import { ropeKey, ropeTable, distinctRopes } from './rope-tables.ts';

/** Vectors of a layer on the device, f32, padded with zeros to the stride of what they meet. */
export interface LayerVectors {
  attnNorm: GPUBuffer;
  ffnNorm: GPUBuffer;
  qkvBias?: GPUBuffer;
  /** [2, headDim]: query, key */
  headNorm?: GPUBuffer;
  postAttnNorm?: GPUBuffer;
  postFfnNorm?: GPUBuffer;
}

/** Everything that is made once and lives as long as the backend, but the matrices. */
export interface PlanBuffers {
  step: GPUBuffer;
  /** [rows, hidden]; the second is where Gemma's fused steps put the sum with the branch before. */
  x: readonly [GPUBuffer, GPUBuffer];
  /** [rows, hidden]: what a branch gives before its own norm (Gemma), or the normed input of a chunk's matrices. */
  t: GPUBuffer;
  normed: GPUBuffer;
  /** [rows, q + k + v] */
  qkv: GPUBuffer;
  /** [rows, heads * headDim] */
  attention: GPUBuffer;
  /** [rows, ffn] */
  ffn: GPUBuffer;
  /** [maxBatch, heads, splits, headDim + 4] */
  parts: GPUBuffer;
  /** [maxSamples, vocab] */
  logits: GPUBuffer;
  outputNorm: GPUBuffer;
  layers: readonly LayerVectors[];
  /** By layer: f16, see kernels/attention/head.wgsl. */
  keys: readonly GPUBuffer[];
  values: readonly GPUBuffer[];
  /** By layer: [context, pairs, 2]; layers share tables. */
  ropes: readonly GPUBuffer[];
}

export interface BufferSizes {
  contextTokens: number;
  kvBlocks: number;
  maxBatch: number;
  /** Rows of logits of a step, a whole number of what the output projection takes at a time. */
  maxSamples: number;
  /** Rows that activations have room for. */
  rows: number;
  /** Splits of a context at most. */
  maxSplits: number;
}

export function createPlanBuffers(
  gpu: GpuContext,
  description: ModelDescription,
  { vectors }: LoadedWeights,
  layout: StepLayout,
  { contextTokens, kvBlocks, maxBatch, maxSamples, rows, maxSplits }: BufferSizes,
): PlanBuffers {
  const { memory } = gpu;
  const { config, weights } = description;
  const sizes = modelSizes(config);
  const floats = (label: string, count: number) => memory.create(label, count * 4);
  const vector = (label: string, stride: number, ...tensors: (GgufTensorInfo | undefined)[]): GPUBuffer => {
    const data = new Float32Array(stride);
    let at = 0;
    for (const tensor of tensors) {
      const values = tensor && vectors.get(tensor);
      if (!values) throw new RangeError(`Cannot fill ${label}: a tensor of it was not loaded`);
      data.set(values, at);
      at += values.length;
    }
    return memory.create(label, data.byteLength, { data });
  };
  const layerVectors = (layer: LayerWeights, index: number): LayerVectors => {
    const name = (what: string) => `layer ${index} ${what}`;
    return {
      attnNorm: vector(name('attention norm'), sizes.xStride, layer.attnNorm),
      ffnNorm: vector(name('ffn norm'), sizes.xStride, layer.ffnNorm),
      ...(layer.qBias && {
        qkvBias: vector(name('qkv bias'), sizes.qkvStride, layer.qBias, layer.kBias, layer.vBias),
      }),
      ...(layer.qNorm && { headNorm: vector(name('head norms'), 2 * config.headDim, layer.qNorm, layer.kNorm) }),
      ...(layer.postAttnNorm && {
        postAttnNorm: vector(name('post attention norm'), sizes.xStride, layer.postAttnNorm),
        postFfnNorm: vector(name('post ffn norm'), sizes.xStride, layer.postFfnNorm),
      }),
    };
  };
  const ropeBuffers = new Map<string, GPUBuffer>();
  for (const [key, rope] of distinctRopes(config)) {
    const data = ropeTable(rope, contextTokens, weights, vectors);
    ropeBuffers.set(key, memory.create('rope', data.byteLength, { data }));
  }
  const kvBytes = kvBlocks * sizes.kvHalfBlockBytes;
  return {
    step: memory.create('step', layout.words * 4),
    x: [floats('x', rows * sizes.xStride), floats('x sum', config.postNorms ? rows * sizes.xStride : 4)],
    t: floats('t', config.postNorms ? rows * sizes.xStride : 4),
    normed: floats('normed', rows * sizes.xStride),
    qkv: floats('qkv', rows * sizes.qkvStride),
    attention: floats('attention', rows * sizes.attnStride),
    ffn: floats('ffn', rows * sizes.ffnStride),
    parts: floats('attention parts', maxBatch * splitWords(config, maxSplits)),
    logits: floats('logits', maxSamples * sizes.logitsStride),
    outputNorm: vector('output norm', sizes.xStride, weights.outputNorm),
    layers: weights.layers.map(layerVectors),
    keys: config.layers.map((_, index) => memory.create(`layer ${index} keys`, kvBytes)),
    values: config.layers.map((_, index) => memory.create(`layer ${index} values`, kvBytes)),
    ropes: config.layers.map(({ rope }) => ropeBuffers.get(ropeKey(rope))!),
  };
}
