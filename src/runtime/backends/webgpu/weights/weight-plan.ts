import type { ModelDescription } from '../../../models/architectures/model-config.ts';
import type { GpuBlock } from '../plan/gpu-block.ts';
import { planBlock } from '../plan/plan-block.ts';
import { planBytes, splitRows, stackRows, type MatrixPlan } from './matrix-plan.ts';

export interface WeightPlan {
  /** In parts, where one would be above the binding limit. */
  embedding: readonly MatrixPlan[];
  /** The same objects as `embedding` when tied. */
  output: readonly MatrixPlan[];
  /** What projects embeddings to the values that tokens have for each layer. */
  layerProjection?: MatrixPlan;
  /** Blocks of all layers, in their order. */
  blocks: readonly GpuBlock[];
  /** Every matrix once. */
  matrices: readonly MatrixPlan[];
  /** Bytes of all matrices, and of the largest: one that is no vocabulary is never split. */
  bytes: number;
  largestBytes: number;
}

export interface PlanLimits {
  maxBindingBytes: number;
}

/** Decides how weights lie on the device, from the header alone. */
export function planWeights({ weights, layers }: ModelDescription, { maxBindingBytes }: PlanLimits): WeightPlan {
  const embedding = splitRows('embedding', weights.tokenEmbedding, maxBindingBytes);
  const output = weights.output ? splitRows('output', weights.output, maxBindingBytes) : embedding;
  const blocks = layers.flatMap((layer, index) => layer.blocks.map((block) => planBlock(block, index)));
  const layerProjection = weights.layerProjection && stackRows('layer projection', [weights.layerProjection]);
  const global = layerProjection ? [layerProjection] : [];
  const matrices = [...new Set([...embedding, ...output, ...global, ...blocks.flatMap((block) => block.matrices)])];
  const sizes = matrices.map(planBytes);
  return {
    embedding,
    output,
    blocks,
    ...(layerProjection && { layerProjection }),
    matrices,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    largestBytes: Math.max(...sizes),
  };
}
