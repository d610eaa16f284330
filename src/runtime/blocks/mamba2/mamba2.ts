import type { ModelReader } from '../../models/architectures/model-reader.ts';
import { invalid } from '../../models/gguf/header-cursor.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { PLAIN_BRANCH, type Block, type BlockNeeds, type BranchConfig, type BranchWeights } from '../block.ts';

/**
 * Mamba-2 (arXiv 2405.21060): x, B and C go through a causal convolution and SiLU; each head has a matrix that decays by its time step, takes in x
 * times B, and is read at C; the result is gated and normed by group. Its state are these matrices, and the last inputs of the convolution.
 */
export interface Mamba2Config {
  kind: 'mamba2';
  branch: BranchConfig;
  heads: number;
  /** Width of a head. */
  headDim: number;
  /** Groups of heads that share B and C, and their width. */
  groups: number;
  stateDim: number;
  /** Tokens that the convolution sees, the current one included. */
  kernel: number;
}

export interface Mamba2Weights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, 2 inner + 2 groups * stateDim + heads]`: gate, x, B, C, time step. */
  input: Weight;
  /** `[kernel, channels]`: the oldest token first. */
  kernel: Weight;
  /** `[channels]` */
  kernelBias: Weight;
  /** `[heads]` */
  stepBias: Weight;
  /** `[1, heads]`: negative. */
  decay: Weight;
  /** `[1, heads]`: how much of x is added to the result. */
  skip: Weight;
  /** `[inner / groups, groups]` */
  groupNorm: Weight;
  /** `[inner, hidden]` */
  output: Weight;
}

const MOST_KERNEL = 8;
const MOST_HEADS = 4096;

/** Reads the Mamba-2 of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readMamba2(reader: ModelReader, layer: number, branch = PLAIN_BRANCH): Block<GgufTensorInfo, 'mamba2'> {
  const { hiddenSize } = reader;
  const inner = reader.integer('ssm.inner_size', { least: 1 });
  const heads = reader.integer('ssm.time_step_rank', { least: 1, most: MOST_HEADS });
  const groups = reader.integer('ssm.group_count', { least: 1, most: MOST_HEADS });
  const stateDim = reader.integer('ssm.state_size', { least: 1, most: MOST_HEADS });
  const kernel = reader.integer('ssm.conv_kernel', { least: 2, most: MOST_KERNEL });
  if (inner % heads !== 0 || heads % groups !== 0)
    throw invalid(`its Mamba layers are ${inner} wide, which ${heads} heads in ${groups} groups cannot share`);
  const config: Mamba2Config = { kind: 'mamba2', branch, heads, headDim: inner / heads, groups, stateDim, kernel };
  const channels = mamba2Channels(config);
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return {
    kind: 'mamba2',
    config,
    weights: {
      norm: reader.vector(name('attn_norm.weight'), hiddenSize),
      input: reader.matrix(name('ssm_in.weight'), hiddenSize, inner + channels + heads),
      kernel: reader.vector(name('ssm_conv1d.weight'), kernel, channels),
      kernelBias: reader.vector(name('ssm_conv1d.bias'), channels),
      stepBias: reader.vector(name('ssm_dt.bias'), heads),
      decay: reader.vector(name('ssm_a'), 1, heads),
      skip: reader.vector(name('ssm_d'), 1, heads),
      groupNorm: reader.vector(name('ssm_norm.weight'), inner / groups, groups),
      output: reader.matrix(name('ssm_out.weight'), inner, hiddenSize),
    },
  };
}

/** Channels of the convolution: x, B and C. */
export function mamba2Channels({ heads, headDim, groups, stateDim }: Mamba2Config): number {
  return heads * headDim + 2 * groups * stateDim;
}

export function mamba2Needs(config: Mamba2Config): BlockNeeds {
  const { heads, headDim, stateDim, kernel } = config;
  const channels = mamba2Channels(config);
  const matrices = heads * headDim * stateDim;
  return {
    projected: heads * headDim + channels + heads,
    mixed: heads * headDim,
    inner: 0,
    state: (kernel - 1) * channels + matrices,
    // Decay, take in, read; and the convolution.
    flop: 5 * matrices + 2 * kernel * channels,
  };
}
