import type { ModelReader } from '../../models/architectures/model-reader.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { PLAIN_BRANCH, type Block, type BlockNeeds, type BranchConfig, type BranchWeights } from '../block.ts';

/**
 * Gated short convolution (LFM2): the input is projected to B, C and X; a causal convolution over the last `kernel` tokens of B * X, channel by
 * channel, is gated by C and projected back. Its state are the last `kernel - 1` values of B * X.
 */
export interface ShortConvConfig {
  kind: 'short-conv';
  branch: BranchConfig;
  /** Channels: the width of the model. */
  width: number;
  /** Tokens that the convolution sees, the current one included. */
  kernel: number;
}

export interface ShortConvWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, 3 hidden]`: rows of B, then of C, then of X. */
  input: Weight;
  /** `[kernel, hidden]`: the oldest token first. */
  kernel: Weight;
  /** `[hidden, hidden]` */
  output: Weight;
}

/** The longest convolution that is run. */
const MOST_KERNEL = 8;

/** Reads the short convolution of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readShortConv(reader: ModelReader, layer: number): Block<GgufTensorInfo, 'short-conv'> {
  const { hiddenSize } = reader;
  const kernel = reader.integer('shortconv.l_cache', { least: 2, most: MOST_KERNEL });
  const name = (rest: string) => `blk.${layer}.${rest}.weight`;
  return {
    kind: 'short-conv',
    config: { kind: 'short-conv', branch: PLAIN_BRANCH, width: hiddenSize, kernel },
    weights: {
      norm: reader.vector(name('attn_norm'), hiddenSize),
      input: reader.matrix(name('shortconv.in_proj'), hiddenSize, 3 * hiddenSize),
      kernel: reader.vector(name('shortconv.conv'), kernel, hiddenSize),
      output: reader.matrix(name('shortconv.out_proj'), hiddenSize, hiddenSize),
    },
  };
}

export function shortConvNeeds({ width, kernel }: ShortConvConfig): BlockNeeds {
  return { projected: 3 * width, mixed: width, inner: 0, state: (kernel - 1) * width, flop: 2 * kernel * width };
}
