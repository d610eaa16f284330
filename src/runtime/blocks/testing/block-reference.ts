import type { ModelConfig, RopeConfig } from '../../models/architectures/model-config.ts';
import type { RopeFrequencies } from '../../models/architectures/rope-frequencies.ts';
import type { GgmlType } from '../../models/gguf/tensor-types.ts';
import type { Activation } from '../block.ts';

/** A tensor of the reference model. */
export interface ReferenceWeight {
  /** Exact values, in the order of the file. */
  values: Float32Array;
  /** What its inputs are rounded to, where llama.cpp is followed that closely. */
  inputsAs: GgmlType;
}

/** What blocks of the reference model have in common. */
export interface ReferenceContext {
  config: ModelConfig;
  /** A matrix times a vector. */
  multiply: (matrix: ReferenceWeight, vector: Float32Array) => Float32Array;
  rope: (config: RopeConfig) => RopeFrequencies;
  /** Values that the current token has for all layers. */
  layerInputs: () => Float32Array;
  /** Keys and values by layer, for those that share them. */
  kv: Map<number, { keys: Float32Array[]; values: Float32Array[] }>;
  activation: (name: Activation) => (x: number) => number;
}

/** A block computed plainly, token by token; it remembers what it needs of the tokens before. */
export interface ReferenceBlock {
  /** @param input normed residual @returns what is added to the residual, but for the norm after and the scale */
  next: (input: Float32Array) => Float32Array;
  /** Forgets all tokens from `length` on. */
  truncate: (length: number) => void;
}
