import type { ModelReader } from '../../models/architectures/model-reader.ts';
import { invalid } from '../../models/gguf/header-cursor.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { PLAIN_BRANCH, type Block, type BlockNeeds, type BranchConfig, type BranchWeights } from '../block.ts';

/**
 * Gated delta net (arXiv 2412.06464), as in Qwen3.5: query, key and value go through a causal convolution and SiLU; each value head has a matrix of
 * keys by values that decays, and is corrected towards the new value at the new key; what it gives for the query is normed and gated. Its state
 * are these matrices, and the last inputs of the convolution.
 */
export interface DeltaNetConfig {
  kind: 'delta-net';
  branch: BranchConfig;
  /** Query and key heads; value head h uses the one with number h modulo these. */
  keyHeads: number;
  valueHeads: number;
  /** Width of a head. */
  headDim: number;
  /** Tokens that the convolution sees, the current one included. */
  kernel: number;
}

export interface DeltaNetWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, (2 keyHeads + valueHeads) * headDim]`: query, key, value. */
  qkv: Weight;
  /** `[hidden, valueHeads * headDim]` */
  gate: Weight;
  /** `[hidden, valueHeads]`: how much of a value is written. */
  beta: Weight;
  /** `[hidden, valueHeads]`: how fast a head forgets. */
  alpha: Weight;
  /** `[kernel, channels]`: the oldest token first. */
  kernel: Weight;
  /** `[valueHeads]` */
  alphaBias: Weight;
  /** `[valueHeads]`: negative. */
  decay: Weight;
  /** `[headDim]`: norm of what each head gives. */
  headNorm: Weight;
  /** `[valueHeads * headDim, hidden]` */
  output: Weight;
}

const MOST_KERNEL = 8;
const MOST_HEADS = 1024;

/** Reads the delta net of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readDeltaNet(reader: ModelReader, layer: number): Block<GgufTensorInfo, 'delta-net'> {
  const { hiddenSize } = reader;
  const keyHeads = reader.integer('ssm.group_count', { least: 1, most: MOST_HEADS });
  const valueHeads = reader.integer('ssm.time_step_rank', { least: 1, most: MOST_HEADS });
  const headDim = reader.integer('ssm.state_size', { least: 1, most: MOST_HEADS });
  const kernel = reader.integer('ssm.conv_kernel', { least: 2, most: MOST_KERNEL });
  const inner = reader.integer('ssm.inner_size', { least: 1 });
  if (inner !== valueHeads * headDim)
    throw invalid(
      `its delta net is ${inner} wide, and its ${valueHeads} value heads of ${headDim} are ${valueHeads * headDim}`,
    );
  if (valueHeads % keyHeads !== 0) throw invalid(`${valueHeads} value heads cannot share ${keyHeads} key heads`);
  const channels = (2 * keyHeads + valueHeads) * headDim;
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return {
    kind: 'delta-net',
    config: { kind: 'delta-net', branch: PLAIN_BRANCH, keyHeads, valueHeads, headDim, kernel },
    weights: {
      norm: reader.vector(name('attn_norm.weight'), hiddenSize),
      qkv: reader.matrix(name('attn_qkv.weight'), hiddenSize, channels),
      gate: reader.matrix(name('attn_gate.weight'), hiddenSize, inner),
      beta: reader.matrix(name('ssm_beta.weight'), hiddenSize, valueHeads),
      alpha: reader.matrix(name('ssm_alpha.weight'), hiddenSize, valueHeads),
      kernel: reader.vector(name('ssm_conv1d.weight'), kernel, channels),
      alphaBias: reader.vector(name('ssm_dt.bias'), valueHeads),
      decay: reader.vector(name('ssm_a'), valueHeads),
      headNorm: reader.vector(name('ssm_norm.weight'), headDim),
      output: reader.matrix(name('ssm_out.weight'), inner, hiddenSize),
    },
  };
}

/** Channels of the convolution. */
export function deltaNetChannels({ keyHeads, valueHeads, headDim }: DeltaNetConfig): number {
  return (2 * keyHeads + valueHeads) * headDim;
}

export function deltaNetNeeds(config: DeltaNetConfig): BlockNeeds {
  const { valueHeads, headDim, kernel } = config;
  const channels = deltaNetChannels(config);
  const matrices = valueHeads * headDim * headDim;
  return {
    projected: channels + valueHeads * headDim + 2 * valueHeads,
    mixed: valueHeads * headDim,
    inner: 0,
    state: (kernel - 1) * channels + matrices,
    // Decay, read at the key, correct, read at the query; and the convolution.
    flop: 7 * matrices + 2 * kernel * channels,
  };
}
