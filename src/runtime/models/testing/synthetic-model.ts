import { BLOCK_LAYOUTS, type GgmlType } from '../gguf/tensor-types.ts';
import { bool, concatChunks, f32, ggufChunks, str, u32, type TensorSpec, type TypedValue } from './gguf-writer.ts';
import { SeededRandom } from './random.ts';
import { randomRows } from './random-weights.ts';
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

export interface SyntheticModel extends SyntheticShape {
  architecture: 'llama' | 'qwen2' | 'qwen3' | 'gemma3' | 'phi3';
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

/** What sets the tensors of an architecture apart from those of Llama. */
interface Traits {
  fusedQkv?: boolean;
  fusedGateUp?: boolean;
  qkvBias?: boolean;
  qkNorm?: boolean;
  postNorms?: boolean;
  embeddingScale?: (hidden: number) => number;
}

const TRAITS: Readonly<Record<SyntheticModel['architecture'], Traits>> = {
  llama: {},
  qwen2: { qkvBias: true },
  qwen3: { qkNorm: true },
  gemma3: { qkNorm: true, postNorms: true, embeddingScale: Math.sqrt },
  phi3: { fusedQkv: true, fusedGateUp: true },
};

function metadataOf(model: SyntheticModel): (readonly [string, TypedValue])[] {
  const { architecture, headDim = model.hidden / model.heads, context = 2048 } = model;
  const isQwen = architecture.startsWith('qwen');
  const isGemma = architecture === 'gemma3';
  const key = (name: string) => `${architecture}.${name}`;
  const window = model.window ?? (isGemma ? 16 : 0);
  const kind = model.tokenizer ?? (isGemma || architecture === 'phi3' ? 'spm' : 'gpt2');
  return [
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

/** Standard deviation of the outputs of queries and keys for inputs of unit size: attention that prefers, and does not jump. */
const QUERY_GAIN = 1.2;
/** Of the logits, before some rows are made larger. */
const OUTPUT_GAIN = 0.5;
/**
 * Rows of the output differ in size by e to a standard normal, so that the best token stands out; but at most by e to this, or exp(logit)
 * would overflow in f32, which llama.cpp's binding computes.
 */
const WILDEST = 2;

/**
 * How large things are: embeddings, and what each attention or feed-forward adds to them. Additions smaller than the embedding keep errors
 * from growing with each layer, as in trained models. With a tied output, a residual that is mostly the embedding would always predict its own
 * token, so there the additions are larger.
 */
function gainsOf(model: SyntheticModel, tied: boolean) {
  const embedding = tied ? OUTPUT_GAIN : Math.sqrt(model.hidden);
  const scale = TRAITS[model.architecture].embeddingScale?.(model.hidden) ?? 1;
  const embeddingRms = (embedding / Math.sqrt(model.hidden)) * scale;
  return { embedding, branch: embeddingRms * (tied ? 1.2 : 0.4) };
}

function tensorsOf(model: SyntheticModel): TensorSpec[] {
  const { hidden, vocab, layers, ffn, heads, kvHeads, headDim = hidden / heads } = model;
  const traits = TRAITS[model.architecture];
  const tied = model.tied ?? model.architecture === 'gemma3';
  const embedding = { type: model.embeddingType ?? (model.quantization === 'Q4_K_M' ? 'Q6_K' : model.quantization) };
  const [qRows, kvRows] = [heads * headDim, kvHeads * headDim];
  const make = new TensorMaker(model);
  const gains = gainsOf(model, tied);
  // Attention averages, and a gated activation halves: about 0.5 of a unit comes in.
  const branch = { gain: traits.postNorms ? 1 : 2 * gains.branch };
  const query = { gain: QUERY_GAIN };
  const tensors = [make.matrix('token_embd', hidden, vocab, { ...embedding, wildRows: tied, gain: gains.embedding })];
  for (let layer = 0; layer < layers; layer++) {
    const name = (rest: string) => `blk.${layer}.${rest}`;
    // As llama.cpp's mix does: the more sensitive matrices of some layers get more bits.
    const better = model.quantization === 'Q4_K_M' && layer % 2 === 0 ? ({ type: 'Q6_K' } as const) : {};
    tensors.push(make.norm(name('attn_norm'), hidden));
    if (traits.fusedQkv) tensors.push(make.matrix(name('attn_qkv'), hidden, qRows + 2 * kvRows, query));
    else {
      tensors.push(
        make.matrix(name('attn_q'), hidden, qRows, query),
        make.matrix(name('attn_k'), hidden, kvRows, query),
        make.matrix(name('attn_v'), hidden, kvRows, better),
      );
    }
    if (traits.qkvBias || model.qkvBias === true) {
      tensors.push(make.bias(name('attn_q'), qRows), make.bias(name('attn_k'), kvRows), make.bias(name('attn_v'), kvRows));
    }
    if (traits.qkNorm) tensors.push(make.norm(name('attn_q_norm'), headDim), make.norm(name('attn_k_norm'), headDim));
    tensors.push(make.matrix(name('attn_output'), qRows, hidden, branch));
    if (traits.postNorms) tensors.push(make.norm(name('post_attention_norm'), hidden, gains.branch));
    tensors.push(make.norm(name('ffn_norm'), hidden));
    if (traits.fusedGateUp) tensors.push(make.matrix(name('ffn_up'), hidden, 2 * ffn));
    else tensors.push(make.matrix(name('ffn_gate'), hidden, ffn), make.matrix(name('ffn_up'), hidden, ffn));
    tensors.push(make.matrix(name('ffn_down'), ffn, hidden, { ...better, ...branch }));
    if (traits.postNorms) tensors.push(make.norm(name('post_ffw_norm'), hidden, gains.branch));
  }
  tensors.push(make.norm('output_norm', hidden));
  if (!tied) tensors.push(make.matrix('output', hidden, vocab, { ...embedding, wildRows: true, gain: OUTPUT_GAIN }));
  const pairs = ropeDims(model) / 2;
  if (model.ropeScaling === 'factors') tensors.push(make.factors('rope_freqs', pairs));
  if (model.ropeScaling === 'longrope') {
    tensors.push(make.factors('rope_factors_long', pairs), make.factors('rope_factors_short', pairs));
  }
  return tensors;
}

/** Bytes made at a time. */
const PIECE_BYTES = 2 ** 21;

class TensorMaker {
  #model: SyntheticModel;

  constructor(model: SyntheticModel) {
    this.#model = model;
  }

  matrix(
    name: string,
    inputs: number,
    rows: number,
    { type, wildRows = false, gain = 1 }: { type?: GgmlType; wildRows?: boolean; gain?: number } = {},
  ): TensorSpec {
    const wanted = this.#model.quantization === 'Q4_K_M' ? 'Q4_K' : this.#model.quantization;
    const fitting = fittingType(type ?? wanted, inputs);
    const { blockSize, blockBytes } = BLOCK_LAYOUTS[fitting];
    const piece = Math.max(1, Math.floor(PIECE_BYTES / ((inputs / blockSize) * blockBytes)));
    const deviation = gain / Math.sqrt(inputs);
    const random = () => this.#random(name);
    return {
      name: `${name}.weight`,
      shape: [inputs, rows],
      type: fitting,
      *chunks() {
        const source = random();
        for (let row = 0; row < rows; row += piece) {
          const count = Math.min(piece, rows - row);
          const deviations = Array.from({ length: count }, () => deviation * (wildRows ? Math.exp(Math.min(WILDEST, source.normal())) : 1));
          yield randomRows(fitting, inputs, deviations, source);
        }
      },
    };
  }

  norm(name: string, size: number, mean = 1): TensorSpec {
    return this.#vector(`${name}.weight`, size, (random) => mean * (1 + 0.1 * random.normal()));
  }

  bias(name: string, size: number): TensorSpec {
    return this.#vector(`${name}.bias`, size, (random) => 0.3 * random.normal());
  }

  factors(name: string, size: number): TensorSpec {
    return this.#vector(`${name}.weight`, size, (random) => 1 + 3 * random.uniform());
  }

  #vector(name: string, size: number, value: (random: SeededRandom) => number): TensorSpec {
    const chunks = () => {
      const random = this.#random(name);
      return [new Uint8Array(Float32Array.from({ length: size }, () => value(random)).buffer)];
    };
    return { name, shape: [size], type: 'F32', chunks };
  }

  /** Each tensor has its own numbers, whatever else there is in the file. */
  #random(name: string): SeededRandom {
    let hash = this.#model.seed ?? 1;
    for (const character of name) hash = Math.imul(hash, 31) + character.codePointAt(0)!;
    return new SeededRandom(hash | 0);
  }
}

const FALLBACKS: Partial<Record<GgmlType, GgmlType>> = { Q2_K: 'Q4_0', Q3_K: 'Q4_0', Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' };

function fittingType(type: GgmlType, rowLength: number): GgmlType {
  if (rowLength % BLOCK_LAYOUTS[type].blockSize === 0) return type;
  const fallback = FALLBACKS[type];
  return fallback !== undefined && rowLength % 32 === 0 ? fallback : 'F16';
}
