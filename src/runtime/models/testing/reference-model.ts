import { mamba2Reference } from '../../blocks/mamba2/testing/mamba2-reference.ts';
import { layerEmbeddingReference } from '../../blocks/layer-embedding/testing/layer-embedding-reference.ts';
import { expertsReference } from '../../blocks/experts/testing/experts-reference.ts';
import { deltaNetReference } from '../../blocks/delta-net/testing/delta-net-reference.ts';
import { attentionReference } from '../../blocks/attention/testing/attention-reference.ts';
import type { Block, BlockConfig } from '../../blocks/block.ts';
import { denseReference } from '../../blocks/dense/testing/dense-reference.ts';
import { shortConvReference } from '../../blocks/short-conv/testing/short-conv-reference.ts';
import type { ReferenceBlock, ReferenceContext, ReferenceWeight } from '../../blocks/testing/block-reference.ts';
import { describeModel } from '../architectures/describe-model.ts';
import type { ModelConfig, ModelDescription, ModelWeights } from '../architectures/model-config.ts';
import { ropeFrequencies, usesLongFactors } from '../architectures/rope-frequencies.ts';
import { dequantize } from '../gguf/dequantize.ts';
import type { GgufHeader, GgufTensorInfo } from '../gguf/header.ts';
import { readGgufHeader } from '../gguf/read-header.ts';
import { geluLikeLlamaCpp, roundLikeLlamaCpp } from './llama-cpp-rounding.ts';
import { geluTanh, matrixTimesVector, rmsNorm, silu } from './reference-math.ts';

/** A model computed plainly on the CPU: weights exact in f32, activations and KV in f32, sums in f64. The truth of our tests. */
export interface ReferenceModel {
  readonly header: GgufHeader;
  readonly config: ModelConfig;
  /** Tokens whose KV is held. */
  readonly length: number;
  /** Appends tokens; gives the logits (`vocabSize` of them) at each. */
  forward(tokens: readonly number[]): Float32Array[];
  /** Appends the prompt, then the most likely token (lowest id of equals) again and again, `count` of them. */
  greedy(prompt: readonly number[], count: number): number[];
  /** Forgets all tokens from `length` on. @default 0 */
  truncate(length?: number): void;
}

export interface ReferenceOptions {
  /**
   * Round the inputs of matrices, and GELU, as llama.cpp's CPU code does, to compare with it closely. The plain model (false) is what other
   * backends are measured by. @default false
   */
  roundLikeLlamaCpp?: boolean;
  /** Tokens of context, which decides between short and long factors of longrope. @default the context of the file */
  contextTokens?: number;
}

/** Reads a whole GGUF file. @throws TokenglassError as `readGgufHeader` and `describeModel` do */
export async function createReferenceModel(gguf: Uint8Array, options: ReferenceOptions = {}): Promise<ReferenceModel> {
  const header = await readGgufHeader(gguf, { totalBytes: gguf.length });
  const load = ({ type, offset, byteLength }: GgufTensorInfo): ReferenceWeight => ({
    values: dequantize(type, gguf.subarray(offset, offset + byteLength)),
    inputsAs: options.roundLikeLlamaCpp === true ? type : 'F32',
  });
  return new PlainModel(header, describeModel(header), load, options);
}

/** The index of the largest number, the lowest one of equals. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let index = 1; index < values.length; index++) if (values[index]! > values[best]!) best = index;
  return best;
}

type Loaded = ModelWeights<ReferenceWeight>;

/** A block as a branch of the residual. */
interface Branch {
  block: ReferenceBlock;
  config: BlockConfig;
  norm: ReferenceWeight | undefined;
  postNorm: ReferenceWeight | undefined;
  outputScale: ReferenceWeight | undefined;
}

function loadAll<Role extends string>(
  tensors: Partial<Record<Role, GgufTensorInfo>>,
  load: (tensor: GgufTensorInfo) => ReferenceWeight,
): Partial<Record<Role, ReferenceWeight>> {
  const entries = Object.entries<GgufTensorInfo>(tensors as Record<Role, GgufTensorInfo>);
  return Object.fromEntries(entries.map(([role, tensor]) => [role, load(tensor)])) as Partial<Record<Role, ReferenceWeight>>;
}

function createBlock(block: Block<ReferenceWeight>, context: ReferenceContext, layer: number): ReferenceBlock {
  switch (block.kind) {
    case 'attention':
      return attentionReference(block, context, layer);
    case 'layer-embedding':
      return layerEmbeddingReference(block, context);
    case 'mamba2':
      return mamba2Reference(block, context);
    case 'experts':
      return expertsReference(block, context);
    case 'delta-net':
      return deltaNetReference(block, context);
    case 'short-conv':
      return shortConvReference(block, context);
    case 'dense':
      return denseReference(block, context);
  }
}

class PlainModel implements ReferenceModel {
  readonly header: GgufHeader;
  readonly config: ModelConfig;
  readonly #weights: Loaded;
  readonly #branches: readonly Branch[];
  readonly #multiply: ReferenceContext['multiply'];
  #length = 0;
  #layerInputs = new Float32Array(0);

  constructor(
    header: GgufHeader,
    { config, layers, weights }: ModelDescription,
    load: (tensor: GgufTensorInfo) => ReferenceWeight,
    { contextTokens = config.contextTokens, roundLikeLlamaCpp: rounds = false }: ReferenceOptions,
  ) {
    this.header = header;
    this.config = config;
    const loaded = loadAll(weights as unknown as Record<string, GgufTensorInfo>, load) as unknown as Loaded;
    this.#weights = loaded;
    const context: ReferenceContext = {
      config,
      multiply,
      rope: (rope) => {
        const isLong = usesLongFactors(rope, contextTokens);
        const longrope = isLong ? loaded.ropeFactorsLong : loaded.ropeFactorsShort;
        return ropeFrequencies(rope, (rope.scaling.type === 'longrope' ? longrope : loaded.ropeFactors)?.values);
      },
      layerInputs: () => this.#layerInputs,
      kv: new Map(),
      activation: (name) => (name === 'silu' ? silu : rounds ? geluLikeLlamaCpp : geluTanh),
    };
    this.#multiply = context.multiply;
    this.#branches = layers
      .flatMap(({ blocks }, layer) => blocks.map((block) => ({ block, layer })))
      .map(({ block, layer }) => {
        const own = { ...block, weights: loadAll(block.weights as unknown as Record<string, GgufTensorInfo>, load) } as unknown as Block<ReferenceWeight>;
        const { norm, postNorm, outputScale } = own.weights;
        return { block: createBlock(own, context, layer), config: block.config, norm, postNorm, outputScale };
      });
  }

  get length(): number {
    return this.#length;
  }

  forward(tokens: readonly number[]): Float32Array[] {
    return tokens.map((token) => this.#next(token));
  }

  greedy(prompt: readonly number[], count: number): number[] {
    let logits = this.forward(prompt).at(-1)!;
    const tokens: number[] = [];
    while (tokens.length < count) {
      const token = argmax(logits);
      tokens.push(token);
      if (tokens.length < count) logits = this.#next(token);
    }
    return tokens;
  }

  truncate(length = 0): void {
    for (const { block } of this.#branches) block.truncate(length);
    this.#length = Math.min(this.#length, length);
  }

  /** (RMSNorm(projected embedding) + table) / sqrt(2), layer by layer. */
  #layerInputsOf(token: number, embedding: Float32Array): Float32Array<ArrayBuffer> {
    const { layerTable, layerProjection, layerNorm } = this.#weights;
    const { layerEmbedding, hiddenSize, normEps } = this.config;
    if (!layerEmbedding) return new Float32Array(0);
    const { width, layers } = layerEmbedding;
    const projected = this.#multiply(layerProjection!, embedding).map((value) => value / Math.sqrt(hiddenSize));
    const out = new Float32Array(width * layers);
    for (let at = 0; at < out.length; at += width) {
      const normed = rmsNorm(projected.subarray(at, at + width), layerNorm!.values, normEps);
      for (let i = 0; i < width; i++) {
        const own = layerTable!.values[token * out.length + at + i]! * Math.sqrt(width);
        out[at + i] = (normed[i]! + own) * Math.SQRT1_2;
      }
    }
    return out;
  }

  #next(token: number): Float32Array {
    const { hiddenSize, embeddingScale, normEps, vocabSize } = this.config;
    const { tokenEmbedding, outputNorm, output = tokenEmbedding } = this.#weights;
    if (!(token >= 0 && token < vocabSize)) throw new RangeError(`Cannot run token ${token}: the vocabulary has ${vocabSize}`);
    const residual = tokenEmbedding.values.slice(token * hiddenSize, (token + 1) * hiddenSize);
    for (let i = 0; i < hiddenSize; i++) residual[i]! *= embeddingScale;
    this.#layerInputs = this.#layerInputsOf(token, residual);
    for (const { block, config, norm, postNorm, outputScale } of this.#branches) {
      const given = block.next(norm === undefined ? residual.slice() : rmsNorm(residual, norm.values, normEps));
      const normed = postNorm === undefined ? given : rmsNorm(given, postNorm.values, normEps);
      for (let i = 0; i < hiddenSize; i++) residual[i] = (residual[i]! + normed[i]! * config.branch.scale) * (outputScale?.values[0] ?? 1);
    }
    this.#length += 1;
    const logits = this.#multiply(output, rmsNorm(residual, outputNorm.values, normEps));
    const { logitScale, logitCap } = this.config;
    return logits.map((logit) => (logitCap === undefined ? logit * logitScale : logitCap * Math.tanh((logit * logitScale) / logitCap)));
  }
}

function multiply({ values, inputsAs }: ReferenceWeight, vector: Float32Array): Float32Array {
  return matrixTimesVector(values, roundLikeLlamaCpp(inputsAs, vector));
}
