import type { ModelReader } from '../../models/architectures/model-reader.ts';
import type { RopeConfig } from '../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { PLAIN_BRANCH, type Block, type BlockNeeds, type BranchConfig, type BranchWeights } from '../block.ts';

/** Grouped-query attention. */
export interface AttentionConfig {
  kind: 'attention';
  branch: BranchConfig;
  heads: number;
  kvHeads: number;
  headDim: number;
  /** What query-key products are multiplied with before the softmax. */
  scale: number;
  /** Absent: heads are not rotated. */
  rope?: RopeConfig;
  /** A token attends to itself and the `window - 1` tokens before; absent: to all before. */
  window?: number;
  /** It has no keys and values of its own, but uses those of this layer. */
  sharedLayer?: number;
  /** RMSNorm, without a gain, of each value head. */
  valueNorm: boolean;
  /** Query, key and value are one matrix. */
  fusedQkv: boolean;
  /** Biases of query, key and value. */
  bias: boolean;
  /** Bias of the output. */
  outputBias: boolean;
  /** RMSNorm of each query and key head. */
  qkNorm: boolean;
  /** That norm comes after the rotation, not before. */
  normAfterRotation: boolean;
  /** Queries are multiplied with 1 + growth * ln(1 + floor(position / every)). */
  queryGrowth?: { growth: number; every: number };
  /** Query-key products are capped softly: cap * tanh(product / cap). */
  softcap?: number;
  /** Each head has one more score, of nothing, in its softmax. */
  sinks: boolean;
  /** What a head gives is multiplied with the sigmoid of a gate, whose rows follow those of its query in `q`. */
  gated: boolean;
}

export interface AttentionWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, heads * headDim]`, twice as many rows with `gated`; with `k` and `v` unless `fusedQkv`. */
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
  /** `[heads]` */
  sinks?: Weight;
  /** `[heads * headDim, hidden]` */
  output: Weight;
  /** `[hidden]` */
  outputBias?: Weight;
}

export interface AttentionOptions {
  rope: RopeConfig | undefined;
  window?: number | undefined;
  /** @default what the metadata says */
  headDim?: number;
  sharedLayer?: number;
  /** @default false */
  valueNorm?: boolean;
  /** @default 1 / sqrt(headDim) */
  scale?: number;
  /** @default 'split' */
  qkv?: 'split' | 'fused';
  /** @default 'none' */
  bias?: 'none' | 'optional' | 'required';
  /** @default false */
  outputBias?: boolean;
  /** @default 'none' */
  qkNorm?: 'none' | 'before-rotation' | 'after-rotation';
  softcap?: number | undefined;
  queryGrowth?: { growth: number; every: number } | undefined;
  /** @default false */
  sinks?: boolean;
  /** @default false */
  gated?: boolean;
  /** @default a norm before */
  branch?: BranchConfig;
}

/** Reads the attention of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readAttention(
  reader: ModelReader,
  layer: number,
  options: AttentionOptions,
): Block<GgufTensorInfo, 'attention'> {
  const { branch = PLAIN_BRANCH, rope, window, qkv = 'split', qkNorm = 'none', gated = false } = options;
  const { outputBias = false, softcap, queryGrowth, sinks = false } = options;
  const { hiddenSize } = reader;
  const { sharedLayer, valueNorm = false } = options;
  const { heads, kvHeads, headDim } = reader.heads(layer, options.headDim);
  const name = (rest: string) => `blk.${layer}.${rest}`;
  const bias = options.bias === 'required' || (options.bias === 'optional' && reader.has(name('attn_q.bias')));
  const [qRows, kvRows] = [heads * headDim, kvHeads * headDim];
  const config: AttentionConfig = {
    kind: 'attention',
    branch,
    heads,
    kvHeads,
    headDim,
    scale: options.scale ?? 1 / Math.sqrt(headDim),
    ...(rope && { rope }),
    ...(window !== undefined && { window }),
    ...(sharedLayer !== undefined && { sharedLayer }),
    valueNorm,
    fusedQkv: qkv === 'fused',
    bias,
    outputBias,
    qkNorm: qkNorm !== 'none',
    normAfterRotation: qkNorm === 'after-rotation',
    ...(softcap !== undefined && { softcap }),
    ...(queryGrowth && { queryGrowth }),
    sinks,
    gated,
  };
  const weights: AttentionWeights<GgufTensorInfo> = {
    ...(branch.norm && { norm: reader.vector(name('attn_norm.weight'), hiddenSize) }),
    ...(config.fusedQkv
      ? { qkv: reader.matrix(name('attn_qkv.weight'), hiddenSize, qRows + 2 * kvRows) }
      : {
          q: reader.matrix(name('attn_q.weight'), hiddenSize, gated ? 2 * qRows : qRows),
          ...(sharedLayer === undefined && {
            k: reader.matrix(name('attn_k.weight'), hiddenSize, kvRows),
            v: reader.matrix(name('attn_v.weight'), hiddenSize, kvRows),
          }),
        }),
    ...(bias && {
      qBias: reader.vector(name('attn_q.bias'), qRows),
      kBias: reader.vector(name('attn_k.bias'), kvRows),
      vBias: reader.vector(name('attn_v.bias'), kvRows),
    }),
    ...(config.qkNorm && {
      qNorm: reader.vector(name('attn_q_norm.weight'), headDim),
      ...(sharedLayer === undefined && { kNorm: reader.vector(name('attn_k_norm.weight'), headDim) }),
    }),
    ...(sinks && { sinks: reader.vector(name('attn_sinks.weight'), heads) }),
    output: reader.matrix(name('attn_output.weight'), qRows, hiddenSize),
    ...(outputBias && { outputBias: reader.vector(name('attn_output.bias'), hiddenSize) }),
    ...(branch.postNorm && { postNorm: reader.vector(name('post_attention_norm.weight'), hiddenSize) }),
  };
  return { kind: 'attention', config, weights };
}

export function attentionNeeds({ heads, kvHeads, headDim, window, gated, sharedLayer }: AttentionConfig): BlockNeeds {
  return {
    projected: ((gated ? 2 : 1) * heads + 2 * kvHeads) * headDim,
    mixed: heads * headDim,
    inner: 0,
    ...(sharedLayer === undefined && { kv: { heads: kvHeads, headDim } }),
    attends: { heads, kvHeads, headDim, ...(window !== undefined && { window }) },
  };
}
