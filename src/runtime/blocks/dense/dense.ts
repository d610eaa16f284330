import type { ModelReader } from '../../models/architectures/model-reader.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import {
  PLAIN_BRANCH,
  type Activation,
  type Block,
  type BlockNeeds,
  type BranchConfig,
  type BranchWeights,
} from '../block.ts';

/** Gated feed-forward: down(activation(gate(x)) * up(x)). */
export interface DenseConfig {
  kind: 'dense';
  branch: BranchConfig;
  size: number;
  activation: Activation;
  /** Gate and up are one matrix. */
  fusedGateUp: boolean;
}

export interface DenseWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, size]`; with `up` unless `fusedGateUp`. */
  gate?: Weight;
  /** `[hidden, size]` */
  up?: Weight;
  /** `[hidden, 2 size]`: rows of gate, then of up. */
  gateUp?: Weight;
  /** `[size, hidden]` */
  down: Weight;
}

export interface DenseOptions {
  /** @default 'silu' */
  activation?: Activation;
  /** @default 'split' */
  gateUp?: 'split' | 'fused';
  /** @default a norm before */
  branch?: BranchConfig;
  /** Name of the norm before. @default 'ffn_norm' */
  norm?: string;
}

/** Reads the feed-forward of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readDense(
  reader: ModelReader,
  layer: number,
  options: DenseOptions = {},
): Block<GgufTensorInfo, 'dense'> {
  const { activation = 'silu', gateUp = 'split', branch = PLAIN_BRANCH, norm = 'ffn_norm' } = options;
  const { hiddenSize } = reader;
  const size = reader.feedForwardSize(layer);
  const name = (rest: string) => `blk.${layer}.${rest}.weight`;
  const config: DenseConfig = { kind: 'dense', branch, size, activation, fusedGateUp: gateUp === 'fused' };
  const weights: DenseWeights<GgufTensorInfo> = {
    ...(branch.norm && { norm: reader.vector(name(norm), hiddenSize) }),
    ...(config.fusedGateUp
      ? { gateUp: reader.matrix(name('ffn_up'), hiddenSize, 2 * size) }
      : {
          gate: reader.matrix(name('ffn_gate'), hiddenSize, size),
          up: reader.matrix(name('ffn_up'), hiddenSize, size),
        }),
    down: reader.matrix(name('ffn_down'), size, hiddenSize),
    ...(branch.postNorm && { postNorm: reader.vector(name('post_ffw_norm'), hiddenSize) }),
  };
  return { kind: 'dense', config, weights };
}

export function denseNeeds({ size }: DenseConfig): BlockNeeds {
  return { projected: 0, mixed: 0, inner: size };
}
