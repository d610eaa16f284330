import { describeModel } from '../architectures/describe-model.ts';
import type { LayerConfig, LayerWeights, ModelConfig, ModelWeights } from '../architectures/model-config.ts';
import { ropeFrequencies, type RopeFrequencies } from '../architectures/rope-frequencies.ts';
import { dequantize } from '../gguf/dequantize.ts';
import type { GgufHeader, GgufTensorInfo } from '../gguf/header.ts';
import { readGgufHeader } from '../gguf/read-header.ts';
import type { GgmlType } from '../gguf/tensor-types.ts';
import { geluLikeLlamaCpp, roundLikeLlamaCpp } from './llama-cpp-rounding.ts';
import { attend, gatedActivation, geluTanh, matrixTimesVector, rmsNorm, rotate, silu } from './reference-math.ts';

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
  const { config, weights } = describeModel(header);
  const load = ({ type, offset, byteLength }: GgufTensorInfo): Weight => ({
    values: dequantize(type, gguf.subarray(offset, offset + byteLength)),
    inputsAs: options.roundLikeLlamaCpp === true ? type : 'F32',
  });
  return new PlainModel(header, config, loadWeights(weights, load), options);
}

/** The index of the largest number, the lowest one of equals. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let index = 1; index < values.length; index++) if (values[index]! > values[best]!) best = index;
  return best;
}

interface Weight {
  values: Float32Array;
  inputsAs: GgmlType;
}
type Loaded = ModelWeights<Weight>;

function loadWeights({ layers, ...rest }: ModelWeights, load: (tensor: GgufTensorInfo) => Weight): Loaded {
  const loadAll = (weights: object): object =>
    Object.fromEntries(Object.entries(weights).map(([role, tensor]) => [role, load(tensor as GgufTensorInfo)]));
  return {
    ...(loadAll(rest) as Omit<Loaded, 'layers'>),
    layers: layers.map((layer) => loadAll(layer) as LayerWeights<Weight>),
  };
}

/** Keys and values of a layer: one array of `kvHeads * headDim` numbers per token. */
interface LayerKv {
  keys: Float32Array[];
  values: Float32Array[];
}

class PlainModel implements ReferenceModel {
  readonly header: GgufHeader;
  readonly config: ModelConfig;
  #weights: Loaded;
  #kv: LayerKv[];
  #rope: RopeFrequencies[];
  #activation: (x: number) => number;

  constructor(header: GgufHeader, config: ModelConfig, weights: Loaded, options: ReferenceOptions) {
    const { contextTokens = config.contextTokens, roundLikeLlamaCpp: rounds = false } = options;
    this.#activation = config.activation === 'silu' ? silu : rounds ? geluLikeLlamaCpp : geluTanh;
    this.header = header;
    this.config = config;
    this.#weights = weights;
    this.#kv = config.layers.map(() => ({ keys: [], values: [] }));
    this.#rope = config.layers.map(({ rope }) => {
      const isLong = rope.scaling.type === 'longrope' && contextTokens > rope.scaling.originalContext;
      const longrope = isLong ? weights.ropeFactorsLong : weights.ropeFactorsShort;
      return ropeFrequencies(rope, (rope.scaling.type === 'longrope' ? longrope : weights.ropeFactors)?.values);
    });
  }

  get length(): number {
    return this.#kv[0]!.keys.length;
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
    for (const { keys, values } of this.#kv) {
      keys.length = Math.min(keys.length, length);
      values.length = Math.min(values.length, length);
    }
  }

  #next(token: number): Float32Array {
    const { hiddenSize, embeddingScale, normEps, layers, vocabSize } = this.config;
    const { tokenEmbedding, outputNorm, output = tokenEmbedding } = this.#weights;
    if (!(token >= 0 && token < vocabSize)) throw new RangeError(`Cannot run token ${token}: the vocabulary has ${vocabSize}`);
    const residual = tokenEmbedding.values.slice(token * hiddenSize, (token + 1) * hiddenSize);
    for (let i = 0; i < hiddenSize; i++) residual[i]! *= embeddingScale;
    for (const [index, layer] of layers.entries()) {
      const weights = this.#weights.layers[index]!;
      add(residual, this.#attention(residual, index, layer, weights), weights.postAttnNorm, normEps);
      add(residual, this.#feedForward(residual, weights), weights.postFfnNorm, normEps);
    }
    return multiply(output, rmsNorm(residual, outputNorm.values, normEps));
  }

  #attention(
    residual: Float32Array,
    index: number,
    { rope, window }: LayerConfig,
    weights: LayerWeights<Weight>,
  ): Float32Array {
    const { config } = this;
    const { heads, kvHeads, headDim, normEps, attentionScale } = config;
    const { keys, values } = this.#kv[index]!;
    const position = keys.length;
    const { q, k, v } = projectQkv(rmsNorm(residual, weights.attnNorm.values, normEps), config, weights);
    for (const [vector, norm] of [
      [q, weights.qNorm],
      [k, weights.kNorm],
    ] as const) {
      for (let at = 0; at < vector.length; at += headDim) {
        const head = vector.subarray(at, at + headDim);
        if (norm !== undefined) head.set(rmsNorm(head, norm.values, normEps));
        rotate(head, position, rope.style, this.#rope[index]!);
      }
    }
    keys.push(k);
    values.push(v);
    const from = window === undefined ? 0 : Math.max(0, position + 1 - window);
    const mixed = attend(q, keys.slice(from), values.slice(from), { heads, kvHeads, headDim, scale: attentionScale });
    return multiply(weights.attnOutput, mixed);
  }

  #feedForward(residual: Float32Array, weights: LayerWeights<Weight>): Float32Array {
    const { ffnSize, normEps } = this.config;
    const normed = rmsNorm(residual, weights.ffnNorm.values, normEps);
    const gateUp = weights.gateUp && multiply(weights.gateUp, normed);
    const gate = gateUp?.subarray(0, ffnSize) ?? multiply(weights.gate!, normed);
    const up = gateUp?.subarray(ffnSize) ?? multiply(weights.up!, normed);
    return multiply(weights.down, gatedActivation(this.#activation, gate, up));
  }
}

function projectQkv(
  normed: Float32Array,
  { heads, kvHeads, headDim }: ModelConfig,
  weights: LayerWeights<Weight>,
): { q: Float32Array; k: Float32Array; v: Float32Array } {
  const [qSize, kvSize] = [heads * headDim, kvHeads * headDim];
  if (weights.qkv !== undefined) {
    const all = multiply(weights.qkv, normed);
    return { q: all.slice(0, qSize), k: all.slice(qSize, qSize + kvSize), v: all.slice(qSize + kvSize) };
  }
  const project = (matrix: Weight, bias: Weight | undefined) => {
    const vector = multiply(matrix, normed);
    if (bias !== undefined) add(vector, bias.values);
    return vector;
  };
  return {
    q: project(weights.q!, weights.qBias),
    k: project(weights.k!, weights.kBias),
    v: project(weights.v!, weights.vBias),
  };
}

/** Adds in place, after the norm if there is one. */
function add(to: Float32Array, from: Float32Array, norm?: Weight, eps = 0): void {
  const normed = norm === undefined ? from : rmsNorm(from, norm.values, eps);
  for (let i = 0; i < to.length; i++) to[i]! += normed[i]!;
}

function multiply({ values, inputsAs }: Weight, vector: Float32Array): Float32Array {
  return matrixTimesVector(values, roundLikeLlamaCpp(inputsAs, vector));
}
