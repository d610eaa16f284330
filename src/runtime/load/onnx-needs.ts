import { CATALOG_CONTEXT_TOKENS } from '../models/catalog-entries.ts';
import type { ModelNeeds } from '../models/fit-check.ts';

/** Logits of a step at the most, and what onnxruntime keeps beside the weights. */
const SCRATCH_BYTES = 2 ** 27;

/**
 * What an ONNX model takes beside its weights, from its config.json; nothing of what that does not say. KV is counted in f32, for the context
 * that was asked for or else the 2,048 tokens (at most what the model has) that a conversation soon needs: it grows with what is used.
 */
export function onnxNeeds(config: unknown, contextTokens?: number): Pick<ModelNeeds, 'kvBytes' | 'scratchBytes'> {
  const values = (typeof config === 'object' && config !== null ? config : {}) as Record<string, unknown>;
  const size = (name: string): number | undefined => {
    const value = values[name];
    return typeof value === 'number' && value > 0 ? value : undefined;
  };
  const layers = size('num_hidden_layers');
  const heads = size('num_attention_heads');
  const hidden = size('hidden_size');
  const headDim = size('head_dim') ?? (hidden !== undefined && heads !== undefined ? hidden / heads : undefined);
  const kvHeads = size('num_key_value_heads') ?? heads;
  if (layers === undefined || headDim === undefined || kvHeads === undefined) return { scratchBytes: SCRATCH_BYTES };
  const tokens = contextTokens ?? Math.min(CATALOG_CONTEXT_TOKENS, size('max_position_embeddings') ?? Infinity);
  return { kvBytes: layers * 2 * kvHeads * headDim * 4 * tokens, scratchBytes: SCRATCH_BYTES };
}
