import type { TensorSpec, TypedValue } from './gguf-writer.ts';
import { bool, f32, str, u32 } from './gguf-writer.ts';
import type { SyntheticModel } from './synthetic-model.ts';
import type { TensorMaker } from './tensor-maker.ts';

/** What sets the tensors and metadata of an architecture apart from those of Llama. */
interface Traits {
  fusedQkv?: boolean;
  fusedGateUp?: boolean;
  qkvBias?: boolean;
  qkNorm?: boolean;
  postNorms?: boolean;
  /** Norms before attention and feed-forward. @default true */
  preNorms?: boolean;
  outputBias?: boolean;
  sinks?: boolean;
  expertBias?: boolean;
  /** What logits are divided by. @default 1 */
  logitScale?: number;
  /** Query rows are followed by those of a gate. */
  gated?: boolean;
  /** @default 'ffn_norm' */
  ffnNorm?: string;
  embeddingScale?: (hidden: number) => number;
  /** No output matrix of its own, unless the model says so. @default false */
  tied?: boolean;
  /** @default 'output_norm' */
  outputNorm?: string;
  /** What a layer has instead of attention. @default attention everywhere */
  mixer?: (model: SyntheticModel, layer: number) => 'attention' | 'short-conv' | 'delta-net' | 'mamba2';
  /** What a layer has instead of a dense feed-forward. @default 'dense' everywhere */
  feedForward?: (layer: number) => 'dense' | 'experts';
  /** Biases of the choice of experts. */
  selectionBias?: boolean;
  /** Tensors that belong to no layer. */
  tensors?: (model: SyntheticModel, make: TensorMaker) => TensorSpec[];
  /** All tensors of a layer, where they are of its own kind. */
  layer?: MakeTensors;
  /** Keys, without the prefix, that are added or have another value. */
  metadata?: (model: SyntheticModel) => Record<string, TypedValue>;
}

/** LFM2 has attention in its third layer, and in each third after that. */
const lfm2Mixer = (_: unknown, layer: number) => (layer % 3 === 2 ? 'attention' : 'short-conv');
const CONV_TOKENS = 3;

const lfm2Keys = ({ layers, kvHeads }: SyntheticModel) => ({
  'attention.head_count_kv': perLayer(layers, (layer) => (lfm2Mixer(undefined, layer) === 'attention' ? kvHeads : 0)),
  'shortconv.l_cache': u32(CONV_TOKENS),
});

/** Qwen3.5 has attention in each fourth layer. */
const qwen35Mixer = (_: unknown, layer: number) => (layer % 4 === 3 ? 'attention' : 'delta-net');
const DELTA_TOKENS = 4;
const EXPERTS = 8;
const USED_EXPERTS = 2;
const expertSize = ({ ffn }: SyntheticModel) => ffn / 2;
const expertKeys = (model: SyntheticModel) => ({
  expert_count: u32(EXPERTS),
  expert_used_count: u32(USED_EXPERTS),
  expert_feed_forward_length: u32(expertSize(model)),
});

const deltaSizes = ({ hidden }: SyntheticModel) => ({ keyHeads: 2, valueHeads: 4, size: hidden >= 256 ? 32 : 16 });

/** Gemma 4: each fourth layer is global; the last ones share keys and values, and have a wider feed-forward. */
const gemma4Local = (layer: number) => layer % 4 !== 3 && layer !== 5;
const GEMMA4_SHARED = 2;
const LAYER_WIDTH = 32;

/** Granite 4 H has attention in few layers: here in each third. */
const hybridMixer = (_: unknown, layer: number) => (layer % 3 === 2 ? 'attention' : 'mamba2');
const MAMBA = { tokens: 4, state: 32, groups: 2, size: 32 };

const sharedSize = ({ ffn }: SyntheticModel) => ffn / 4;

/** Multipliers of Granite: of embeddings, of branches, and what logits are divided by. */
const GRANITE = { embedding: 6, branch: 0.4, logits: 2.5 };
const graniteKeys = () => ({
  'attention.scale': f32(0.125),
  embedding_scale: f32(GRANITE.embedding),
  residual_scale: f32(GRANITE.branch),
  logit_scale: f32(GRANITE.logits),
});

/** Traits of each architecture. */
export const TRAITS: Readonly<Record<SyntheticModel['architecture'], Traits>> = {
  llama: {},
  qwen2: { qkvBias: true },
  qwen3: { qkNorm: true },
  gemma3: { qkNorm: true, postNorms: true, embeddingScale: Math.sqrt, tied: true },
  phi3: { fusedQkv: true, fusedGateUp: true },
  lfm2: {
    qkNorm: true,
    tied: true,
    outputNorm: 'token_embd_norm',
    mixer: lfm2Mixer,
    metadata: lfm2Keys,
  },
  lfm2moe: {
    qkNorm: true,
    tied: true,
    outputNorm: 'token_embd_norm',
    mixer: lfm2Mixer,
    feedForward: (layer) => (layer < 1 ? 'dense' : 'experts'),
    selectionBias: true,
    metadata: (model) => ({ ...lfm2Keys(model), ...expertKeys(model), leading_dense_block_count: u32(1), expert_gating_func: u32(2) }),
  },
  smollm3: { tied: true },
  granite: { embeddingScale: () => GRANITE.embedding, logitScale: GRANITE.logits, metadata: graniteKeys },
  granitemoe: {
    embeddingScale: () => GRANITE.embedding,
    logitScale: GRANITE.logits,
    feedForward: () => 'experts',
    metadata: (model) => ({
      ...graniteKeys(),
      ...expertKeys(model),
      feed_forward_length: u32(expertSize(model)),
      expert_shared_feed_forward_length: u32(sharedSize(model)),
    }),
  },
  granitehybrid: {
    embeddingScale: () => GRANITE.embedding,
    logitScale: GRANITE.logits,
    mixer: hybridMixer,
    metadata: ({ layers, kvHeads, hidden }) => ({
      ...graniteKeys(),
      'attention.head_count_kv': perLayer(layers, (layer) => (hybridMixer(undefined, layer) === 'attention' ? kvHeads : 0)),
      'rope.scaling.finetuned': bool(false),
      'ssm.conv_kernel': u32(MAMBA.tokens),
      'ssm.state_size': u32(MAMBA.state),
      'ssm.group_count': u32(MAMBA.groups),
      'ssm.inner_size': u32(2 * hidden),
      'ssm.time_step_rank': u32((2 * hidden) / MAMBA.size),
    }),
  },
  minicpm: {
    embeddingScale: () => GRANITE.embedding,
    logitScale: GRANITE.logits,
    metadata: () => {
      const { 'attention.scale': _scale, ...keys } = graniteKeys();
      return keys;
    },
  },
  gemma2: {
    postNorms: true,
    embeddingScale: Math.sqrt,
    tied: true,
    metadata: () => ({ attn_logit_softcapping: f32(4), final_logit_softcapping: f32(8) }),
  },
  exaone4: { qkNorm: true, preNorms: false, postNorms: true },
  glm4: { postNorms: true, fusedGateUp: true, qkvBias: true },
  ernie4_5: {},
  mistral3: {
    metadata: () => ({
      'attention.temperature_scale': f32(0.5),
      'rope.scaling.type': str('yarn'),
      'rope.scaling.factor': f32(16),
      'rope.scaling.original_context_length': u32(24),
      'rope.scaling.yarn_log_multiplier': f32(0.7),
      'rope.scaling.yarn_beta_fast': f32(32),
      'rope.scaling.yarn_beta_slow': f32(1),
    }),
  },
  gemma4: {
    embeddingScale: Math.sqrt,
    tied: true,
    postNorms: true,
    layer: (...of) => gemma4Layer(...of),
    tensors: ({ hidden, layers, vocab, headDim = 16 }, make) => [
      make.matrix('per_layer_token_embd', LAYER_WIDTH * layers, vocab, { gain: 0.7 * Math.sqrt(layers) }),
      make.matrix('per_layer_model_proj', hidden, LAYER_WIDTH * layers),
      make.norm('per_layer_proj_norm', LAYER_WIDTH),
      // A quarter of a global head is rotated.
      make.values('rope_freqs.weight', [headDim], (_, index) => (index < headDim / 4 ? 1 : 1e30)),
    ],
    metadata: ({ layers, hidden, heads, headDim = hidden / heads, ffn, window = 16 }) => ({
      'attention.key_length': u32(2 * headDim),
      'attention.value_length': u32(2 * headDim),
      'attention.key_length_swa': u32(headDim),
      'attention.value_length_swa': u32(headDim),
      'attention.sliding_window': u32(window),
      'attention.sliding_window_pattern': { type: 'bools', value: Array.from({ length: layers }, (_, layer) => gemma4Local(layer)) },
      'attention.shared_kv_layers': u32(GEMMA4_SHARED),
      embedding_length_per_layer_input: u32(LAYER_WIDTH),
      'rope.dimension_count': u32(2 * headDim),
      'rope.dimension_count_swa': u32(headDim),
      'rope.freq_base_swa': f32(1e4),
      final_logit_softcapping: f32(15),
      feed_forward_length: perLayer(layers, (layer) => (layer < layers - GEMMA4_SHARED ? ffn : 2 * ffn)),
    }),
  },
  'hunyuan-dense': { qkNorm: true },
  'gpt-oss': {
    qkvBias: true,
    outputBias: true,
    sinks: true,
    expertBias: true,
    ffnNorm: 'post_attention_norm',
    feedForward: () => 'experts',
    metadata: (model) => ({
      ...expertKeys(model),
      'attention.sliding_window': u32(model.window ?? 16),
      'rope.scaling.type': str('yarn'),
      'rope.scaling.factor': f32(8),
      'rope.scaling.original_context_length': u32(128),
    }),
  },
  qwen3moe: { qkNorm: true, feedForward: () => 'experts', metadata: expertKeys },
  qwen35: {
    qkNorm: true,
    gated: true,
    ffnNorm: 'post_attention_norm',
    mixer: qwen35Mixer,
    metadata: (model) => {
      const { keyHeads, valueHeads, size } = deltaSizes(model);
      const { hidden, heads, headDim = hidden / heads } = model;
      const rotated = headDim / 2;
      return {
        full_attention_interval: u32(4),
        'ssm.conv_kernel': u32(DELTA_TOKENS),
        'ssm.state_size': u32(size),
        'ssm.group_count': u32(keyHeads),
        'ssm.time_step_rank': u32(valueHeads),
        'ssm.inner_size': u32(valueHeads * size),
        'rope.dimension_count': u32(rotated),
        'rope.dimension_sections': { type: 'int32s', value: Int32Array.of(rotated / 4, rotated / 4, 0, 0) },
      };
    },
  },
};

/** An array with a number for each layer. */
function perLayer(layers: number, value: (layer: number) => number): TypedValue {
  return { type: 'int32s', value: Int32Array.from({ length: layers }, (_, layer) => value(layer)) };
}

/** Standard deviation of the outputs of queries and keys for inputs of unit size: attention that prefers, and does not jump. */
const QUERY_GAIN = 1.2;
/** Of the logits, before some rows are made larger. */
export const OUTPUT_GAIN = 0.5;

export interface Gains {
  embedding: number;
  branch: number;
}

/**
 * How large things are: embeddings, and what each attention or feed-forward adds to them. Additions smaller than the embedding keep errors
 * from growing with each layer, as in trained models. With a tied output, a residual that is mostly the embedding would always predict its own
 * token, so there the additions are larger.
 */
export function gainsOf(model: SyntheticModel, tied: boolean): Gains {
  const embedding = tied ? OUTPUT_GAIN : Math.sqrt(model.hidden);
  const scale = TRAITS[model.architecture].embeddingScale?.(model.hidden) ?? 1;
  const embeddingRms = (embedding / Math.sqrt(model.hidden)) * scale;
  return { embedding, branch: embeddingRms * (tied ? 1.2 : 0.4) };
}

/** All tensors of a layer. */
export function layerTensors(model: SyntheticModel, layer: number, make: TensorMaker, gains: Gains): TensorSpec[] {
  const { layer: own } = TRAITS[model.architecture];
  if (own) return own(model, layer, make, gains);
  const mixer = TRAITS[model.architecture].mixer?.(model, layer) ?? 'attention';
  const mixers = { attention: attentionTensors, 'short-conv': shortConvTensors, 'delta-net': deltaNetTensors, mamba2: mamba2Tensors };
  const feedForward = TRAITS[model.architecture].feedForward?.(layer) ?? 'dense';
  const feedForwards = { dense: denseTensors, experts: expertsTensors };
  return [...mixers[mixer](model, layer, make, gains), ...feedForwards[feedForward](model, layer, make, gains)];
}

type MakeTensors = (model: SyntheticModel, layer: number, make: TensorMaker, gains: Gains) => TensorSpec[];

/** As llama.cpp's mix does: the more sensitive matrices of some layers get more bits. */
const better = ({ quantization }: SyntheticModel, layer: number) =>
  quantization === 'Q4_K_M' && layer % 2 === 0 ? ({ type: 'Q6_K' } as const) : {};

/** Attention averages, and a gated activation halves: about 0.5 of a unit comes in. */
const branchGain = ({ architecture }: SyntheticModel, gains: Gains) => ({
  gain: TRAITS[architecture].postNorms ? 1 : 2 * gains.branch,
});

const attentionTensors: MakeTensors = (model, layer, make, gains) => {
  const { hidden, heads, kvHeads, headDim = hidden / heads } = model;
  const traits = TRAITS[model.architecture];
  const [qRows, kvRows] = [heads * headDim, kvHeads * headDim];
  const name = (rest: string) => `blk.${layer}.${rest}`;
  const query = { gain: QUERY_GAIN };
  return [
    ...(traits.preNorms === false ? [] : [make.norm(name('attn_norm'), hidden)]),
    ...(traits.fusedQkv
      ? [make.matrix(name('attn_qkv'), hidden, qRows + 2 * kvRows, query)]
      : [
          make.matrix(name('attn_q'), hidden, traits.gated ? 2 * qRows : qRows, query),
          make.matrix(name('attn_k'), hidden, kvRows, query),
          make.matrix(name('attn_v'), hidden, kvRows, better(model, layer)),
        ]),
    ...(traits.qkvBias || model.qkvBias === true
      ? [make.bias(name('attn_q'), qRows), make.bias(name('attn_k'), kvRows), make.bias(name('attn_v'), kvRows)]
      : []),
    ...(traits.qkNorm ? [make.norm(name('attn_q_norm'), headDim), make.norm(name('attn_k_norm'), headDim)] : []),
    ...(traits.sinks ? [make.values(name('attn_sinks.weight'), [heads], (random) => 2 + random.normal())] : []),
    make.matrix(name('attn_output'), qRows, hidden, branchGain(model, gains)),
    ...(traits.outputBias ? [make.bias(name('attn_output'), hidden)] : []),
    ...(traits.postNorms ? [make.norm(name('post_attention_norm'), hidden, gains.branch)] : []),
  ];
};

const shortConvTensors: MakeTensors = ({ hidden }, layer, make, gains) => {
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return [
    make.norm(name('attn_norm'), hidden),
    make.matrix(name('shortconv.in_proj'), hidden, 3 * hidden),
    make.values(name('shortconv.conv.weight'), [CONV_TOKENS, hidden], (random) => 0.6 * random.normal()),
    make.matrix(name('shortconv.out_proj'), hidden, hidden, { gain: gains.branch }),
  ];
};

const deltaNetTensors: MakeTensors = (model, layer, make, gains) => {
  const { hidden } = model;
  const { keyHeads, valueHeads, size } = deltaSizes(model);
  const channels = (2 * keyHeads + valueHeads) * size;
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return [
    make.norm(name('attn_norm'), hidden),
    make.matrix(name('attn_qkv'), hidden, channels),
    make.matrix(name('attn_gate'), hidden, valueHeads * size, { gain: 1.3 }),
    make.matrix(name('ssm_beta'), hidden, valueHeads),
    make.matrix(name('ssm_alpha'), hidden, valueHeads),
    make.values(name('ssm_conv1d.weight'), [DELTA_TOKENS, channels], (random) => 0.8 * random.normal()),
    make.values(name('ssm_dt.bias'), [valueHeads], (random) => -1.5 + 1.2 * random.normal()),
    make.values(name('ssm_a'), [valueHeads], (random) => -Math.exp(3.3 * random.uniform() - 3)),
    make.norm(name('ssm_norm'), size),
    make.matrix(name('ssm_out'), valueHeads * size, hidden, { gain: 2 * gains.branch }),
  ];
};

const expertsTensors: MakeTensors = (model, layer, make, gains) => {
  const { hidden } = model;
  const traits = TRAITS[model.architecture];
  const size = expertSize(model);
  const name = (rest: string) => `blk.${layer}.${rest}`;
  const experts = { count: EXPERTS };
  return [
    make.norm(name(traits.ffnNorm ?? 'ffn_norm'), hidden),
    make.matrix(name('ffn_gate_inp'), hidden, EXPERTS, { type: 'F32', gain: 2 }),
    ...(traits.selectionBias ? [make.values(name('exp_probs_b.bias'), [EXPERTS], (random) => 0.15 * random.normal())] : []),
    make.matrix(name('ffn_gate_exps'), hidden, size, experts),
    make.matrix(name('ffn_up_exps'), hidden, size, experts),
    make.matrix(name('ffn_down_exps'), size, hidden, { ...experts, ...branchGain(model, gains) }),
    ...(traits.expertBias
      ? [
          make.bias(name('ffn_gate_inp'), EXPERTS),
          ...(['ffn_gate_exps', 'ffn_up_exps', 'ffn_down_exps'] as const).map((matrix) =>
            make.values(name(`${matrix}.bias`), [matrix === 'ffn_down_exps' ? hidden : size, EXPERTS], (random) => 0.3 * random.normal()),
          ),
        ]
      : []),
    ...(model.architecture === 'granitemoe'
      ? [
          make.matrix(name('ffn_gate_shexp'), hidden, sharedSize(model)),
          make.matrix(name('ffn_up_shexp'), hidden, sharedSize(model)),
          make.matrix(name('ffn_down_shexp'), sharedSize(model), hidden, branchGain(model, gains)),
        ]
      : []),
  ];
};

const gemma4Layer: MakeTensors = ({ hidden, heads, kvHeads, headDim = hidden / heads, layers, ffn }, layer, make, gains) => {
  const name = (rest: string) => `blk.${layer}.${rest}`;
  const width = gemma4Local(layer) ? headDim : 2 * headDim;
  const isOwn = layer < layers - GEMMA4_SHARED;
  const size = isOwn ? ffn : 2 * ffn;
  const headNorm = 1.5 / width ** 0.25;
  return [
    make.norm(name('attn_norm'), hidden),
    make.matrix(name('attn_q'), hidden, heads * width),
    make.norm(name('attn_q_norm'), width, headNorm),
    ...(isOwn
      ? [
          make.matrix(name('attn_k'), hidden, kvHeads * width),
          make.matrix(name('attn_v'), hidden, kvHeads * width),
          make.norm(name('attn_k_norm'), width, headNorm),
        ]
      : []),
    make.matrix(name('attn_output'), heads * width, hidden),
    make.norm(name('post_attention_norm'), hidden, gains.branch),
    make.norm(name('ffn_norm'), hidden),
    make.matrix(name('ffn_gate'), hidden, size),
    make.matrix(name('ffn_up'), hidden, size),
    make.matrix(name('ffn_down'), size, hidden),
    make.norm(name('post_ffw_norm'), hidden, gains.branch),
    make.matrix(name('inp_gate'), hidden, LAYER_WIDTH, { gain: 0.6 / gains.branch }),
    make.matrix(name('proj'), LAYER_WIDTH, hidden),
    make.norm(name('post_norm'), hidden, 0.7 * gains.branch),
    make.values(name('layer_output_scale.weight'), [1], (random) => 0.6 + 0.5 * random.uniform()),
  ];
};

const mamba2Tensors: MakeTensors = ({ hidden }, layer, make, gains) => {
  const inner = 2 * hidden;
  const heads = inner / MAMBA.size;
  const channels = inner + 2 * MAMBA.groups * MAMBA.state;
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return [
    make.norm(name('attn_norm'), hidden),
    make.matrix(name('ssm_in'), hidden, inner + channels + heads),
    make.values(name('ssm_conv1d.weight'), [MAMBA.tokens, channels], (random) => 0.8 * random.normal()),
    make.bias(name('ssm_conv1d'), channels),
    make.values(name('ssm_dt.bias'), [heads], (random) => random.normal() - 1.5),
    make.values(name('ssm_a'), [1, heads], (random) => -Math.exp(4 * random.uniform() - 3)),
    make.values(name('ssm_d'), [1, heads], (random) => 0.3 + 1.2 * random.uniform()),
    make.values(name('ssm_norm.weight'), [inner / MAMBA.groups, MAMBA.groups], (random) => 1 + 0.1 * random.normal()),
    make.matrix(name('ssm_out'), inner, hidden, { gain: gains.branch }),
  ];
};

const denseTensors: MakeTensors = (model, layer, make, gains) => {
  const { hidden, ffn } = model;
  const traits = TRAITS[model.architecture];
  const name = (rest: string) => `blk.${layer}.${rest}`;
  return [
    ...(traits.preNorms === false ? [] : [make.norm(name(traits.ffnNorm ?? 'ffn_norm'), hidden)]),
    ...(traits.fusedGateUp
      ? [make.matrix(name('ffn_up'), hidden, 2 * ffn)]
      : [make.matrix(name('ffn_gate'), hidden, ffn), make.matrix(name('ffn_up'), hidden, ffn)]),
    make.matrix(name('ffn_down'), ffn, hidden, { ...better(model, layer), ...branchGain(model, gains) }),
    ...(traits.postNorms ? [make.norm(name('post_ffw_norm'), hidden, gains.branch)] : []),
  ];
};
