import type { GgufTensorInfo } from '../gguf/header.ts';

/** `interleaved`: elements 2i and 2i+1 of a head are rotated together; `halves`: elements i and i + dims/2. */
export type RopeStyle = 'interleaved' | 'halves';

/** `gelu-tanh` is the approximation with tanh. */
export type Activation = 'silu' | 'gelu-tanh';

export type RopeScaling =
  | { type: 'none' }
  /** Positions are divided by `factor`. */
  | { type: 'linear'; factor: number }
  /** YaRN (arXiv 2309.00071): low frequencies are interpolated, high ones kept, with a ramp between. */
  | { type: 'yarn'; factor: number; originalContext: number; betaFast: number; betaSlow: number }
  /** Factors by frequency from two tensors: the short ones up to `originalContext` tokens of context, else the long ones. */
  | { type: 'longrope'; originalContext: number };

/** Rotary positions of a layer; `ropeFrequencies` makes angles of it. */
export interface RopeConfig {
  style: RopeStyle;
  /** Elements of a head, from its first on, that are rotated; even, at most `headDim`. */
  dims: number;
  base: number;
  scaling: RopeScaling;
  /** What cosine and sine are multiplied with, besides what YaRN brings itself. */
  magnitude: number;
  /** Frequencies are divided by the factors of `rope_freqs.weight` or of the longrope tensors, where the file has them. */
  usesFactors: boolean;
}

export interface LayerConfig {
  rope: RopeConfig;
  /** A token attends to itself and the `window - 1` tokens before; absent: to all before. */
  window?: number;
}

/** Everything that a backend needs to know to run a model, but the weights. */
export interface ModelConfig {
  architecture: string;
  layers: readonly LayerConfig[];
  hiddenSize: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffnSize: number;
  /** Rows of the token embedding: logits per position. */
  vocabSize: number;
  /** Tokens that the model was trained for. */
  contextTokens: number;
  normEps: number;
  activation: Activation;
  /** What token embeddings are multiplied with; 1 for most. */
  embeddingScale: number;
  /** What query-key products are multiplied with before the softmax. */
  attentionScale: number;
  qkvBias: boolean;
  qkNorm: boolean;
  fusedQkv: boolean;
  fusedGateUp: boolean;
  postNorms: boolean;
  /** The token embedding is the output projection too. */
  tiedOutput: boolean;
}

/**
 * Weights of a layer; a matrix `[n, m]` (ggml order) maps n inputs to m outputs and is stored by output rows. Which of the optional
 * ones are there follows from the flags of the config.
 */
export interface LayerWeights<Weight = GgufTensorInfo> {
  /** `[hidden]` */
  attnNorm: Weight;
  /** `[hidden, heads * headDim]`; with `k` and `v` unless `fusedQkv`. */
  q?: Weight;
  /** `[hidden, kvHeads * headDim]` */
  k?: Weight;
  /** `[hidden, kvHeads * headDim]` */
  v?: Weight;
  /** `[hidden, (heads + 2 kvHeads) * headDim]`: rows of q, then of k, then of v. */
  qkv?: Weight;
  qBias?: Weight;
  kBias?: Weight;
  vBias?: Weight;
  /** `[headDim]` */
  qNorm?: Weight;
  /** `[headDim]` */
  kNorm?: Weight;
  /** `[heads * headDim, hidden]` */
  attnOutput: Weight;
  /** `[hidden]` */
  postAttnNorm?: Weight;
  /** `[hidden]` */
  ffnNorm: Weight;
  /** `[hidden, ffn]`; with `up` unless `fusedGateUp`. */
  gate?: Weight;
  /** `[hidden, ffn]` */
  up?: Weight;
  /** `[hidden, 2 ffn]`: rows of gate, then of up. */
  gateUp?: Weight;
  /** `[ffn, hidden]` */
  down: Weight;
  /** `[hidden]` */
  postFfnNorm?: Weight;
}

export interface ModelWeights<Weight = GgufTensorInfo> {
  /** `[hidden, vocab]` */
  tokenEmbedding: Weight;
  layers: readonly LayerWeights<Weight>[];
  /** `[hidden]` */
  outputNorm: Weight;
  /** `[hidden, vocab]`; absent when tied. */
  output?: Weight;
  /** `[dims / 2]`: `rope_freqs.weight`. */
  ropeFactors?: Weight;
  /** `[dims / 2]`: `rope_factors_short.weight`, with `ropeFactorsLong`. */
  ropeFactorsShort?: Weight;
  ropeFactorsLong?: Weight;
}

export interface ModelDescription {
  config: ModelConfig;
  weights: ModelWeights;
}
