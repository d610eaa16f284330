import type { Block, BlockConfig } from '../../blocks/block.ts';
import type { GgufTensorInfo } from '../gguf/header.ts';

/** `interleaved`: elements 2i and 2i+1 of a head are rotated together; `halves`: elements i and i + dims/2. */
export type RopeStyle = 'interleaved' | 'halves';

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

/** A layer is a list of blocks, one after the other, each a branch of the residual. */
export interface LayerConfig {
  blocks: readonly BlockConfig[];
}

/** Everything that a backend needs to know to run a model, but the weights: plain data, so that two models can be compared by it. */
export interface ModelConfig {
  architecture: string;
  layers: readonly LayerConfig[];
  hiddenSize: number;
  /** Rows of the token embedding: logits per position. */
  vocabSize: number;
  /** Tokens that the model was trained for. */
  contextTokens: number;
  /** Of every RMSNorm. */
  normEps: number;
  /** What token embeddings are multiplied with; 1 for most. */
  embeddingScale: number;
  /** Values that each token has for each layer: see blocks/layer-embedding. */
  layerEmbedding?: { width: number; layers: number };
  /** What logits are multiplied with; 1 for most. */
  logitScale: number;
  /** Logits are capped softly, after that: cap * tanh(logit / cap). */
  logitCap?: number;
  /** The token embedding is the output projection too. */
  tiedOutput: boolean;
}

/** A layer with its weights, block by block as in its {@link LayerConfig}. */
export interface Layer<Weight = GgufTensorInfo> {
  blocks: readonly Block<Weight>[];
}

/** Weights of the model as a whole; those of the layers are in their blocks. */
export interface ModelWeights<Weight = GgufTensorInfo> {
  /** `[hidden, vocab]` */
  tokenEmbedding: Weight;
  /** `[hidden]` */
  outputNorm: Weight;
  /** `[hidden, vocab]`; absent when tied. */
  output?: Weight;
  /** `[width * layers, vocab]`: values of each token for each layer; with the two below. */
  layerTable?: Weight;
  /** `[hidden, width * layers]`: the same projected from its embedding. */
  layerProjection?: Weight;
  /** `[width]`: norm of what is projected. */
  layerNorm?: Weight;
  /** `[dims / 2]`: `rope_freqs.weight`. */
  ropeFactors?: Weight;
  /** `[dims / 2]`: `rope_factors_short.weight`, with `ropeFactorsLong`. */
  ropeFactorsShort?: Weight;
  ropeFactorsLong?: Weight;
}

export interface ModelDescription {
  config: ModelConfig;
  layers: readonly Layer[];
  weights: ModelWeights;
}
