import type { GgmlType } from '../gguf/tensor-types.ts';
import { bool, concatChunks, f32, ggufChunks, str, u32, type TensorSpec, type TypedValue } from './gguf-writer.ts';
import { gainsOf, layerTensors, OUTPUT_GAIN, TRAITS } from './synthetic-layers.ts';
import { TensorMaker } from './tensor-maker.ts';
import { syntheticTokenizer, type SyntheticTokenizer } from './synthetic-tokenizer.ts';

export interface SyntheticShape {
  layers: number;
  hidden: number;
  heads: number;
  kvHeads: number;
  /** @default hidden / heads */
  headDim?: number;
  ffn: number;
  vocab: number;
}

/** Architectures that can be written. */
export type SyntheticArchitecture =
  | 'llama' | 'qwen2' | 'qwen3' | 'gemma3' | 'phi3' | 'lfm2' | 'qwen35' | 'qwen3moe' | 'lfm2moe'
  | 'smollm3' | 'granite' | 'granitemoe' | 'minicpm' | 'gemma2' | 'exaone4' | 'glm4' | 'ernie4_5' | 'hunyuan-dense' | 'gpt-oss' | 'gemma4'
  | 'mistral3'
  | 'granitehybrid';

export interface SyntheticModel extends SyntheticShape {
  architecture: SyntheticArchitecture;
  /**
   * Type of all matrices; one whose rows are no whole blocks of it gets the type that llama.cpp's quantiser falls back to
   * (Q4_K: Q5_0, Q5_K: Q5_1, Q6_K: Q8_0; F16 if rows are no multiple of 32 either). `Q4_K_M` mixes Q4_K and Q6_K.
   */
  quantization: GgmlType | 'Q4_K_M';
  /** Type of the token embedding and the output. @default quantization */
  embeddingType?: GgmlType;
  /** @default 1 */
  seed?: number;
  /** @default 2048 */
  context?: number;
  /** No output matrix of its own. @default true for gemma3, else false */
  tied?: boolean;
  /** @default what models of the architecture have */
  tokenizer?: SyntheticTokenizer;
  /** Sliding window in tokens (gemma3, phi3, llama). @default 16 for gemma3, else none */
  window?: number;
  /** Query, key and value biases (llama; qwen2 always has them). @default false */
  qkvBias?: boolean;
  /** Epsilon of every RMSNorm. @default 1e-5; 1e-6 for qwen and gemma3 */
  normEps?: number;
  /** Rotary base. @default 10,000; 1,000,000 for qwen and gemma3 */
  ropeBase?: number;
  /** Share of a head that is rotated. @default 1 */
  ropeShare?: number;
  /** Rotary scaling: `factors` is rope_freqs.weight of Llama 3; `longrope` has an original context of a quarter. @default 'none' */
  ropeScaling?: 'none' | 'linear' | 'yarn' | 'factors' | 'longrope';
}

/** Shapes of real models, and odd ones that break kernels. */
export const SHAPES = {
  'qwen2-0.5b': { layers: 24, hidden: 896, heads: 14, kvHeads: 2, ffn: 4864, vocab: 151_936 },
  'smollm2-135m': { layers: 30, hidden: 576, heads: 9, kvHeads: 3, ffn: 1536, vocab: 49_152 },
  tutor: { layers: 6, hidden: 256, heads: 4, kvHeads: 2, ffn: 512, vocab: 2048 },
  /** Every size a multiple of 256, so that each type is used as it is. */
  tiny: { layers: 2, hidden: 256, heads: 8, kvHeads: 4, ffn: 512, vocab: 512 },
  /** Little to compute, with whole units of every format but the K-quants. */
  small: { layers: 2, hidden: 64, heads: 4, kvHeads: 2, ffn: 96, vocab: 320 },
  /** 9 heads share 3 key-value heads. */
  nine: { layers: 2, hidden: 288, heads: 9, kvHeads: 3, ffn: 544, vocab: 384 },
  /** Five layers, heads of 8, a feed-forward of 172 (no multiple of 32): the shape of stories260K. */
  odd: { layers: 5, hidden: 64, heads: 8, kvHeads: 4, ffn: 172, vocab: 512 },
  /** 172 wide: no row is a multiple of 32, and heads do not fill the width. */
  odd172: { layers: 5, hidden: 172, heads: 6, kvHeads: 2, headDim: 8, ffn: 172, vocab: 512 },
} as const satisfies Record<string, SyntheticShape>;

/** A whole GGUF file with random weights, the same for the same options in every run. For files that fit in memory. */
export function makeSyntheticGguf(model: SyntheticModel): Uint8Array<ArrayBuffer> {
  return concatChunks(syntheticGgufChunks(model));
}

/** The same file in pieces of a few megabytes at most, made one after the other. */
export function syntheticGgufChunks(model: SyntheticModel): Generator<Uint8Array> {
  return ggufChunks({ metadata: metadataOf(model), tensors: tensorsOf(model) });
}

function metadataOf(model: SyntheticModel): (readonly [string, TypedValue])[] {
  const { architecture, headDim = model.hidden / model.heads, context = 2048 } = model;
  const traits = TRAITS[architecture];
  const isQwen = architecture.startsWith('qwen');
  const isGemma = architecture.startsWith('gemma');
  const key = (name: string) => `${architecture}.${name}`;
  const window = model.window ?? (isGemma ? 16 : 0);
  const kind = model.tokenizer ?? (isGemma || architecture === 'phi3' ? 'spm' : 'gpt2');
  const own = traits.metadata?.(model) ?? {};
  const common: (readonly [string, TypedValue])[] = [
    ['general.architecture', str(architecture)],
    ['general.name', str(`synthetic ${architecture} ${model.quantization}`)],
    ['general.quantization_version', u32(2)],
    [key('context_length'), u32(context)],
    [key('embedding_length'), u32(model.hidden)],
    [key('block_count'), u32(model.layers)],
    [key('feed_forward_length'), u32(model.ffn)],
    [key('attention.head_count'), u32(model.heads)],
    [key('attention.head_count_kv'), u32(model.kvHeads)],
    [key('attention.key_length'), u32(headDim)],
    [key('attention.value_length'), u32(headDim)],
    [key('attention.layer_norm_rms_epsilon'), f32(model.normEps ?? (isQwen || isGemma ? 1e-6 : 1e-5))],
    [key('rope.dimension_count'), u32(ropeDims(model))],
    [key('rope.freq_base'), f32(model.ropeBase ?? (isQwen || isGemma ? 1e6 : 1e4))],
    ...(window > 0 ? [[key('attention.sliding_window'), u32(window)] as const] : []),
    ...ropeScalingOf(model, context),
    ...syntheticTokenizer(kind, model.vocab, isQwen ? 'qwen2' : 'smollm'),
    ...(isGemma ? [['tokenizer.ggml.add_space_prefix', bool(false)] as const] : []),
  ];
  const changed = new Map(Object.entries(own).map(([name, value]) => [key(name), value]));
  return [...common.filter(([name]) => !changed.has(name)), ...changed];
}

function ropeScalingOf({ architecture, ropeScaling }: SyntheticModel, context: number): [string, TypedValue][] {
  const key = (name: string) => `${architecture}.rope.scaling.${name}`;
  if (ropeScaling === 'linear') {
    return [
      [key('type'), str('linear')],
      [key('factor'), f32(4)],
    ];
  }
  if (ropeScaling === 'yarn') {
    return [
      [key('type'), str('yarn')],
      [key('factor'), f32(4)],
      [key('original_context_length'), u32(context / 4)],
    ];
  }
  if (ropeScaling === 'longrope') {
    return [
      [key('original_context_length'), u32(context / 4)],
      [key('attn_factor'), f32(1.19)],
    ];
  }
  return [];
}

function ropeDims({ hidden, heads, headDim = hidden / heads, ropeShare = 1 }: SyntheticModel): number {
  return headDim * ropeShare;
}

function tensorsOf(model: SyntheticModel): TensorSpec[] {
  const { hidden, vocab, layers } = model;
  const traits = TRAITS[model.architecture];
  const tied = model.tied ?? traits.tied ?? false;
  const embedding = { type: model.embeddingType ?? (model.quantization === 'Q4_K_M' ? 'Q6_K' : model.quantization) };
  const make = new TensorMaker(model);
  const gains = gainsOf(model, tied);
  const tensors = [
    make.matrix('token_embd', hidden, vocab, { ...embedding, wildRows: tied, gain: gains.embedding }),
    ...(traits.tensors?.(model, make) ?? []),
  ];
  for (let layer = 0; layer < layers; layer++) tensors.push(...layerTensors(model, layer, make, gains));
  tensors.push(make.norm(traits.outputNorm ?? 'output_norm', hidden));
  if (!tied) tensors.push(make.matrix('output', hidden, vocab, { ...embedding, wildRows: true, gain: OUTPUT_GAIN }));
  const pairs = ropeDims(model) / 2;
  if (model.ropeScaling === 'factors') tensors.push(make.factors('rope_freqs', pairs));
  if (model.ropeScaling === 'longrope') {
    tensors.push(make.factors('rope_factors_long', pairs), make.factors('rope_factors_short', pairs));
  }
  return tensors;
}
