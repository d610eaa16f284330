import type { GgufTensorInfo } from '../models/gguf/header.ts';
import type { AttentionConfig, AttentionWeights } from './attention/attention.ts';
import type { DeltaNetConfig, DeltaNetWeights } from './delta-net/delta-net.ts';
import type { DenseConfig, DenseWeights } from './dense/dense.ts';
import type { ExpertsConfig, ExpertsWeights } from './experts/experts.ts';
import type { LayerEmbeddingConfig, LayerEmbeddingWeights } from './layer-embedding/layer-embedding.ts';
import type { Mamba2Config, Mamba2Weights } from './mamba2/mamba2.ts';
import type { ShortConvConfig, ShortConvWeights } from './short-conv/short-conv.ts';

/** `gelu-tanh` is the approximation with tanh. */
export type Activation = 'silu' | 'gelu-tanh';

/** How a block is a branch of the residual: residual + scale * postNorm(block(norm(residual))). */
export interface BranchConfig {
  /** RMSNorm of the residual, before the block. */
  norm: boolean;
  /** RMSNorm of what the block gives, before it is added to the residual. */
  postNorm: boolean;
  /** What is added is multiplied with it; 1 for most. */
  scale: number;
  /** The residual is multiplied with a weight of the block after that. @default false */
  outputScale?: boolean;
}

/** The plain branch: a norm before, and nothing else. */
export const PLAIN_BRANCH: BranchConfig = { norm: true, postNorm: false, scale: 1 };

/** Norms of a branch, `[hidden]` each, and the factor after it, `[1]`. */
export interface BranchWeights<Weight> {
  norm?: Weight;
  postNorm?: Weight;
  outputScale?: Weight;
}

/** Kinds of blocks, each with its folder: what it is told by the metadata, and its tensors. */
interface BlockKinds<Weight> {
  attention: { config: AttentionConfig; weights: AttentionWeights<Weight> };
  dense: { config: DenseConfig; weights: DenseWeights<Weight> };
  experts: { config: ExpertsConfig; weights: ExpertsWeights<Weight> };
  'delta-net': { config: DeltaNetConfig; weights: DeltaNetWeights<Weight> };
  'layer-embedding': { config: LayerEmbeddingConfig; weights: LayerEmbeddingWeights<Weight> };
  mamba2: { config: Mamba2Config; weights: Mamba2Weights<Weight> };
  'short-conv': { config: ShortConvConfig; weights: ShortConvWeights<Weight> };
}

export type BlockKind = keyof BlockKinds<never>;

/**
 * One block of a layer. A matrix `[n, m]` (ggml order) maps n inputs to m outputs and is stored by output rows; which of the optional weights are
 * there follows from the config.
 */
export type Block<Weight = GgufTensorInfo, Kind extends BlockKind = BlockKind> = {
  [K in Kind]: { kind: K } & BlockKinds<Weight>[K];
}[Kind];

export type BlockConfig = Block['config'];

/** What a block needs of a backend, in numbers of a token row: counted from its config alone. */
export interface BlockNeeds {
  /** Numbers that its first matrices give, that its mixer gives, and that lie between the matrices of a feed-forward. */
  projected: number;
  mixed: number;
  inner: number;
  /** Key-value heads and their width, where it keeps keys and values. */
  kv?: { heads: number; headDim: number };
  /** Query heads, and how far they look back. */
  attends?: { heads: number; kvHeads: number; headDim: number; window?: number };
  /** Numbers of state of a sequence that is no KV. */
  state?: number;
  /** Operations on a token row besides those of matrices and attention. */
  flop?: number;
}
