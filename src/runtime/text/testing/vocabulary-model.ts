import { concatChunks, ggufChunks, str, u32, f32, type TypedValue } from '../../models/testing/gguf-writer.ts';
import type { MetadataValue } from './vocabularies.ts';

/** Numbers of a head: the smallest model that llama.cpp loads. */
const WIDTH = 32;

/** A GGUF file with this vocabulary around a llama model of one layer with all weights zero: all that llama.cpp needs to tokenize. */
export function makeVocabularyModel(metadata: ReadonlyMap<string, MetadataValue>): Blob {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const vocab = Array.isArray(tokens) ? tokens.length : 0;
  const tensor = (name: string, ...shape: number[]) => ({
    name,
    shape,
    type: 'F32' as const,
    chunks: () => [new Uint8Array(4 * shape.reduce((product, size) => product * size, 1))],
  });
  const chunks = ggufChunks({
    metadata: [
      ['general.architecture', str('llama')],
      ['llama.context_length', u32(128)],
      ['llama.embedding_length', u32(WIDTH)],
      ['llama.block_count', u32(1)],
      ['llama.feed_forward_length', u32(WIDTH)],
      ['llama.attention.head_count', u32(1)],
      ['llama.attention.layer_norm_rms_epsilon', f32(1e-5)],
      ...[...metadata].map(([key, value]) => [key, toTypedValue(value)] as const),
    ],
    tensors: [
      tensor('token_embd.weight', WIDTH, vocab),
      tensor('output_norm.weight', WIDTH),
      ...['attn_norm', 'ffn_norm'].map((name) => tensor(`blk.0.${name}.weight`, WIDTH)),
      ...['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map((name) =>
        tensor(`blk.0.${name}.weight`, WIDTH, WIDTH),
      ),
    ],
  });
  return new Blob([concatChunks(chunks)]);
}

function toTypedValue(value: MetadataValue): TypedValue {
  if (typeof value === 'string') return { type: 'string', value };
  if (typeof value === 'number') return { type: 'uint32', value };
  if (typeof value === 'boolean') return { type: 'bool', value };
  if (value instanceof Int32Array) return { type: 'int32s', value };
  if (value instanceof Float32Array) return { type: 'float32s', value };
  return { type: 'strings', value };
}
