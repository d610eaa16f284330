import type { ModelReader } from '../../models/architectures/model-reader.ts';
import { invalid, unsupported } from '../../models/gguf/header-cursor.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { PLAIN_BRANCH, type Block, type BlockNeeds, type BranchConfig, type BranchWeights } from '../block.ts';

/**
 * How a token's experts are chosen and weighed: those with the highest scores; their scores, by softmax or sigmoid, are scaled to a sum of 1. (A
 * softmax over all experts, scaled so, is one over the chosen.)
 */
export type Routing = 'softmax' | 'sigmoid';

/** Mixture of experts: each token goes through a few of many gated feed-forwards. */
export interface ExpertsConfig {
  kind: 'experts';
  branch: BranchConfig;
  count: number;
  /** Experts of a token. */
  used: number;
  /** Width of an expert. */
  size: number;
  routing: Routing;
  /** What the weights of the chosen are multiplied with; 1 for most. */
  weightScale: number;
  /** Scores of a choice have a bias, which does not count for the weights. */
  selectionBias: boolean;
  /** `silu`: silu(gate) * up. `clamped`: gate * sigmoid(1.702 gate) * (up + 1), both clamped at 7 (gpt-oss). */
  activation: 'silu' | 'clamped';
  /** Router and experts have biases. */
  bias: boolean;
  /** Width of a feed-forward that every token goes through besides. */
  sharedSize?: number;
}

export interface ExpertsWeights<Weight> extends BranchWeights<Weight> {
  /** `[hidden, count]` */
  router: Weight;
  /** `[hidden, size, count]` */
  gate: Weight;
  /** `[hidden, size, count]` */
  up: Weight;
  /** `[size, hidden, count]` */
  down: Weight;
  /** `[count]` */
  selectionBias?: Weight;
  /** `[count]`, `[size, count]`, `[size, count]`, `[hidden, count]` */
  routerBias?: Weight;
  gateBias?: Weight;
  upBias?: Weight;
  downBias?: Weight;
  /** `[hidden, sharedSize]`, `[hidden, sharedSize]`, `[sharedSize, hidden]` */
  sharedGate?: Weight;
  sharedUp?: Weight;
  sharedDown?: Weight;
}

export interface ExpertsOptions {
  /** @default 'softmax' */
  routing?: Routing;
  /** @default 'silu' */
  activation?: ExpertsConfig['activation'];
  /** @default false */
  bias?: boolean;
  /** @default false */
  selectionBias?: boolean;
  /** Key of an expert's width. @default 'expert_feed_forward_length' */
  sizeKey?: string;
  /** @default a norm before */
  branch?: BranchConfig;
  /** Name of the norm before. @default 'ffn_norm' */
  norm?: string;
}

/** The most experts that a kernel chooses from, and the most that a token has. */
const MOST_EXPERTS = 512;
const MOST_USED = 32;
const MOST_SIZE = 2 ** 20;

/** Reads the experts of a layer. @throws TokenglassError `model-invalid`, `model-unsupported`; names the key or tensor */
export function readExperts(
  reader: ModelReader,
  layer: number,
  options: ExpertsOptions = {},
): Block<GgufTensorInfo, 'experts'> {
  const { routing = 'softmax', activation = 'silu', bias = false, selectionBias = false } = options;
  const { branch = PLAIN_BRANCH, norm = 'ffn_norm', sizeKey = 'expert_feed_forward_length' } = options;
  const { hiddenSize } = reader;
  const count = reader.integer('expert_count', { least: 1 });
  const used = reader.integer('expert_used_count', { least: 1 });
  if (count > MOST_EXPERTS || used > MOST_USED)
    throw unsupported(`it has ${count} experts, ${used} for each token; ${MOST_EXPERTS} and ${MOST_USED} are run`);
  if (used > count) throw invalid(`${used} experts of each token cannot be chosen from ${count}`);
  const size = reader.ofLayer(sizeKey, layer, { least: 1, most: MOST_SIZE });
  const sharedSize = reader.integer('expert_shared_feed_forward_length', { fallback: 0, most: MOST_SIZE });
  const name = (rest: string) => `blk.${layer}.${rest}`;
  const config: ExpertsConfig = {
    kind: 'experts',
    branch,
    count,
    used,
    size,
    routing,
    weightScale: reader.number('expert_weights_scale', 1) || 1,
    selectionBias,
    activation,
    bias,
    ...(sharedSize > 0 && { sharedSize }),
  };
  const weights: ExpertsWeights<GgufTensorInfo> = {
    ...(branch.norm && { norm: reader.vector(name(`${norm}.weight`), hiddenSize) }),
    router: reader.matrix(name('ffn_gate_inp.weight'), hiddenSize, count),
    gate: reader.matrix(name('ffn_gate_exps.weight'), hiddenSize, size, count),
    up: reader.matrix(name('ffn_up_exps.weight'), hiddenSize, size, count),
    down: reader.matrix(name('ffn_down_exps.weight'), size, hiddenSize, count),
    ...(selectionBias && { selectionBias: reader.vector(name('exp_probs_b.bias'), count) }),
    ...(bias && {
      routerBias: reader.vector(name('ffn_gate_inp.bias'), count),
      gateBias: reader.vector(name('ffn_gate_exps.bias'), size, count),
      upBias: reader.vector(name('ffn_up_exps.bias'), size, count),
      downBias: reader.vector(name('ffn_down_exps.bias'), hiddenSize, count),
    }),
    ...(sharedSize > 0 && {
      sharedGate: reader.matrix(name('ffn_gate_shexp.weight'), hiddenSize, sharedSize),
      sharedUp: reader.matrix(name('ffn_up_shexp.weight'), hiddenSize, sharedSize),
      sharedDown: reader.matrix(name('ffn_down_shexp.weight'), sharedSize, hiddenSize),
    }),
    ...(branch.postNorm && { postNorm: reader.vector(name('post_ffw_norm.weight'), hiddenSize) }),
  };
  return { kind: 'experts', config, weights };
}

export function expertsNeeds({ count, used, size, sharedSize = 0 }: ExpertsConfig): BlockNeeds {
  return { projected: count, mixed: sharedSize, inner: used * size };
}
