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
  rope: RopeConfig;
  /** A token attends to itself and the `window - 1` tokens before; absent: to all before. */
  window?: number;
  /** Query, key and value are one matrix. */
  fusedQkv: boolean;
  /** Biases of query, key and value. */
  bias: boolean;
  /** RMSNorm of each query and key head, before the rotation. */
  qkNorm: boolean;
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
  /** `[heads * headDim, hidden]` */
  output: Weight;
}

export interface AttentionOptions {
  rope: RopeConfig;
  window?: number | undefined;
  /** @default 1 / sqrt(headDim) */
  scale?: number;
  /** @default 'split' */
  qkv?: 'split' | 'fused';
  /** @default 'none' */
  bias?: 'none' | 'optional' | 'required';
  /** @default false */
  qkNorm?: boolean;
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
  const { branch = PLAIN_BRANCH, rope, window, qkv = 'split', qkNorm = false, gated = false } = options;
  const { hiddenSize } = reader;
  const { heads, kvHeads, headDim } = reader.heads(layer);
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
    rope,
    ...(window !== undefined && { window }),
    fusedQkv: qkv === 'fused',
    bias,
    qkNorm,
    gated,
  };
  const weights: AttentionWeights<GgufTensorInfo> = {
    ...(branch.norm && { norm: reader.vector(name('attn_norm.weight'), hiddenSize) }),
    ...(config.fusedQkv
      ? { qkv: reader.matrix(name('attn_qkv.weight'), hiddenSize, qRows + 2 * kvRows) }
      : {
          q: reader.matrix(name('attn_q.weight'), hiddenSize, gated ? 2 * qRows : qRows),
          k: reader.matrix(name('attn_k.weight'), hiddenSize, kvRows),
          v: reader.matrix(name('attn_v.weight'), hiddenSize, kvRows),
        }),
    ...(bias && {
      qBias: reader.vector(name('attn_q.bias'), qRows),
      kBias: reader.vector(name('attn_k.bias'), kvRows),
      vBias: reader.vector(name('attn_v.bias'), kvRows),
    }),
    ...(qkNorm && {
      qNorm: reader.vector(name('attn_q_norm.weight'), headDim),
      kNorm: reader.vector(name('attn_k_norm.weight'), headDim),
    }),
    output: reader.matrix(name('attn_output.weight'), qRows, hiddenSize),
    ...(branch.postNorm && { postNorm: reader.vector(name('post_attention_norm.weight'), hiddenSize) }),
  };
  return { kind: 'attention', config, weights };
}

export function attentionNeeds({ heads, kvHeads, headDim, window, gated }: AttentionConfig): BlockNeeds {
  return {
    projected: ((gated ? 2 : 1) * heads + 2 * kvHeads) * headDim,
    mixed: heads * headDim,
    inner: 0,
    kv: { heads: kvHeads, headDim },
    attends: { heads, headDim, ...(window !== undefined && { window }) },
  };
}
