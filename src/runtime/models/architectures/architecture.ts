import type { GgufMetadata } from '../gguf/header.ts';
import type { Activation, RopeStyle } from './model-config.ts';

/**
 * What sets one architecture apart from the common frame: token embedding, then per layer [RMSNorm, grouped-query attention with rotary
 * positions, residual, RMSNorm, gated feed-forward, residual], then RMSNorm and output projection. A new architecture of
 * this family is one object of this type.
 */
export interface Architecture {
  /** `general.architecture`, and the prefix of its metadata keys. */
  readonly name: string;
  readonly rope: RopeStyle;
  readonly activation: Activation;
  /** Query, key and value as one matrix (rows in this order) or as three. @default 'split' */
  readonly qkv?: 'split' | 'fused';
  /** Gate and up as one matrix (rows in this order) or as two. @default 'split' */
  readonly gateUp?: 'split' | 'fused';
  /** Biases of query, key and value. @default 'none' */
  readonly qkvBias?: 'none' | 'optional' | 'required';
  /** RMSNorm of each query and key head, before the rotation. @default false */
  readonly qkNorm?: boolean;
  /** RMSNorm of what attention and feed-forward give, before it is added to the residual. @default false */
  readonly postNorms?: boolean;
  /** What token embeddings are multiplied with. @default 1 */
  readonly embeddingScale?: (hiddenSize: number) => number;
  /** What query-key products are multiplied with. @default 1 / sqrt(headDim) */
  readonly attentionScale?: (sizes: { hiddenSize: number; heads: number; headDim: number; layers: number }) => number;
  /**
   * Sliding windows, where `attention.sliding_window` is set: every layer has one, except each `globalEvery`-th (counted from 1).
   * Local layers rotate with `localRopeBase` unscaled. Absent: the key is ignored.
   */
  readonly slidingWindow?: { globalEvery?: number; localRopeBase?: number };
  /** Metadata that would change the result and that we do not follow: a reason to refuse, or undefined. */
  readonly refuse?: (metadata: GgufMetadata) => string | undefined;
}
