import type { ModelDescription, RopeConfig } from '../../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { GpuContext } from '../device.ts';
import type { StepLayout } from '../step-layout.ts';
import type { LoadedWeights } from '../weights/load-weights.ts';
import { modelSizes, mostSplitWords } from './model-sizes.ts';
import type { BlockRoom } from './plan-parts.ts';
import { ropeKey, ropeTable } from '../../../blocks/attention/rope-tables.ts';

/** What all blocks of a plan share: made once, and living as long as the backend. */
export interface PlanBuffers {
  step: GPUBuffer;
  /** [rows, hidden]; the second is where fused steps put the sum with the block before, if that has a norm after it. */
  x: readonly [GPUBuffer, GPUBuffer];
  /** [rows, hidden]: what a block gives before its own norm. */
  t: GPUBuffer;
  /** [rows, hidden]: the normed input of a chunk's matrices. */
  normed: GPUBuffer;
  /** [rows, projectedStride]: what first matrices give: query, key and value. */
  projected: GPUBuffer;
  /** [rows, mixedStride]: what a mixer gives its last matrix. */
  mixed: GPUBuffer;
  /** [rows, innerStride]: between the matrices of a feed-forward. */
  inner: GPUBuffer;
  /** [maxBatch, heads, splits, headDim + 4] */
  parts: GPUBuffer;
  /** [maxSamples, vocab] */
  logits: GPUBuffer;
  outputNorm: GPUBuffer;
  /** [rows, layerStride]: values of each token for each layer; what the host sends of them; [width]: gain of their norm. */
  layerInputs?: GPUBuffer;
  layerTable?: GPUBuffer;
  layerNorm?: GPUBuffer;
  /** [slots, contextTokens] u32: token ids of each sequence, in a model with state that is no KV. */
  history?: GPUBuffer;
}

export interface BufferSizes {
  maxBatch: number;
  /** Rows of logits of a step, a whole number of what the output projection takes at a time. */
  maxSamples: number;
  /** Rows that activations have room for. */
  rows: number;
  /** Splits of a context at most. */
  maxSplits: number;
  /** Sequences open at once, and tokens of each. */
  slots: number;
  contextTokens: number;
}

export function createPlanBuffers(
  { memory }: GpuContext,
  { config, weights }: ModelDescription,
  { vector }: BlockRoom,
  layout: StepLayout,
  { maxBatch, maxSamples, rows, maxSplits, slots, contextTokens }: BufferSizes,
): PlanBuffers {
  const sizes = modelSizes(config);
  const floats = (label: string, count: number) => memory.create(label, count * 4);
  const hasPostNorms = config.layers.some(({ blocks }) => blocks.some(({ branch }) => branch.postNorm));
  const postRows = hasPostNorms ? rows * sizes.xStride : 4;
  return {
    step: memory.create('step', layout.words * 4),
    x: [floats('x', rows * sizes.xStride), floats('x sum', postRows)],
    t: floats('t', postRows),
    normed: floats('normed', rows * sizes.xStride),
    projected: floats('projected', rows * sizes.projectedStride),
    mixed: floats('mixed', rows * sizes.mixedStride),
    inner: floats('inner', rows * sizes.innerStride),
    parts: floats('attention parts', maxBatch * mostSplitWords(config, maxSplits)),
    logits: floats('logits', maxSamples * sizes.logitsStride),
    outputNorm: vector('output norm', sizes.xStride, weights.outputNorm),
    ...(config.layerEmbedding && {
      layerInputs: floats('layer inputs', rows * sizes.layerStride),
      layerTable: floats('layer table rows', rows * sizes.layerStride),
      layerNorm: vector('layer norm', config.layerEmbedding.width, weights.layerNorm),
    }),
    ...(sizes.stateBytes > 0 && { history: floats('history', slots * contextTokens) }),
  };
}

/** What blocks make their own buffers of. */
export function createBlockRoom(
  gpu: GpuContext,
  { config, weights }: ModelDescription,
  { vectors }: Pick<LoadedWeights, 'vectors'>,
  { contextTokens, kvBlocks, statePages }: Pick<BlockRoom, 'contextTokens' | 'kvBlocks' | 'statePages'>,
): BlockRoom {
  const { memory } = gpu;
  const ropes = new Map<string, GPUBuffer>();
  return {
    gpu,
    sizes: modelSizes(config),
    contextTokens,
    kvBlocks,
    statePages,
    kv: new Map(),
    vector(label: string, stride: number, ...tensors: readonly (GgufTensorInfo | undefined)[]): GPUBuffer {
      const data = new Float32Array(stride);
      let at = 0;
      for (const tensor of tensors) {
        const values = tensor && vectors.get(tensor);
        if (!values) throw new RangeError(`Cannot fill ${label}: a tensor of it was not loaded`);
        data.set(values, at);
        at += values.length;
      }
      return memory.create(label, data.byteLength, { data });
    },
    // [context, pairs, 2] f32; layers share tables.
    rope(rope: RopeConfig): GPUBuffer {
      const key = ropeKey(rope);
      let table = ropes.get(key);
      if (!table) {
        const data = ropeTable(rope, contextTokens, weights, vectors);
        table = memory.create('rope', data.byteLength, { data });
        ropes.set(key, table);
      }
      return table;
    },
  };
}
