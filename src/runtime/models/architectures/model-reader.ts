import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { GgufHeader, GgufMetadata, GgufTensorInfo } from '../gguf/header.ts';
import { findNumber, findString, getInteger, getNumber } from '../gguf/metadata.ts';
import { BLOCK_LAYOUTS } from '../gguf/tensor-types.ts';

/** More than any model has, and little enough that sizes multiply without overflow and plans stay small. */
const MOST_LAYERS = 1024;
const MOST_WIDTH = 2 ** 20;
const MOST_HEADS = 4096;
const MOST_CONTEXT = 2 ** 26;

interface Limits {
  fallback?: number;
  least?: number;
  most?: number;
}

/**
 * Reads what a GGUF header says of a model of one architecture: metadata by their names without the architecture's prefix, and tensors by
 * name and shape. Every tensor is taken once; what nobody took is refused at the end.
 */
export class ModelReader {
  readonly architecture: string;
  readonly metadata: GgufMetadata;
  readonly layerCount: number;
  readonly hiddenSize: number;
  /** Of every RMSNorm. */
  readonly normEps: number;
  /** Tokens that the model was trained for. */
  readonly contextTokens: number;
  readonly #all: ReadonlyMap<string, GgufTensorInfo>;
  readonly #unused: Map<string, GgufTensorInfo>;

  constructor(architecture: string, { metadata, tensors }: GgufHeader) {
    this.architecture = architecture;
    this.metadata = metadata;
    this.#all = new Map(tensors.map((tensor) => [tensor.name, tensor]));
    this.#unused = new Map(this.#all);
    this.layerCount = this.integer('block_count', { least: 1, most: MOST_LAYERS });
    this.hiddenSize = this.integer('embedding_length', { least: 1, most: MOST_WIDTH });
    this.normEps = this.number('attention.layer_norm_rms_epsilon');
    if (!(this.normEps >= 0 && this.normEps < 1))
      throw invalid(`the metadata "${this.key('attention.layer_norm_rms_epsilon')}" is ${this.normEps}`);
    this.contextTokens = this.integer('context_length', { least: 1, most: MOST_CONTEXT });
  }

  /** The whole name of a key. */
  key(name: string): string {
    return `${this.architecture}.${name}`;
  }

  /** @throws TokenglassError `model-invalid` where it is missing (without a fallback) or no number */
  number(name: string, fallback?: number): number {
    return getNumber(this.metadata, this.key(name), fallback);
  }

  findNumber(name: string): number | undefined {
    return findNumber(this.metadata, this.key(name));
  }

  findString(name: string): string | undefined {
    return findString(this.metadata, this.key(name));
  }

  /** A number above 0. */
  positive(name: string, fallback?: number): number {
    const value = this.number(name, fallback);
    if (!(value > 0 && Number.isFinite(value))) throw invalid(`the metadata "${this.key(name)}" is ${value}`);
    return value;
  }

  integer(name: string, limits: Limits = {}): number {
    return getInteger(this.metadata, this.key(name), limits);
  }

  /** The number of a layer: of all layers, or an array with one for each. */
  ofLayer(name: string, layer: number, limits: Limits = {}): number {
    const key = this.key(name);
    const value = this.metadata.get(key);
    if (!ArrayBuffer.isView(value)) return this.integer(name, limits);
    const list = Array.from(value, Number);
    if (list.length !== this.layerCount)
      throw invalid(`the metadata "${key}" has ${list.length} numbers, and the model ${this.layerCount} layers`);
    return getInteger(new Map([[key, list[layer]!]]), key, limits);
  }

  /** Heads of a layer's attention, and their width. @param width where it is not the one of the metadata */
  heads(layer: number, width?: number): { heads: number; kvHeads: number; headDim: number } {
    const heads = this.ofLayer('attention.head_count', layer, { least: 1, most: MOST_HEADS });
    const kvHeads = this.ofLayer('attention.head_count_kv', layer, { fallback: heads, least: 1, most: MOST_HEADS });
    const limits = { fallback: this.hiddenSize / heads, least: 1, most: MOST_WIDTH };
    const headDim = this.integer('attention.key_length', limits);
    const valueDim = this.integer('attention.value_length', limits);
    if (width === undefined && headDim !== valueDim) throw unsupported(`its keys have ${headDim} elements and its values ${valueDim}`);
    if (heads % kvHeads !== 0) throw invalid(`${heads} heads cannot share ${kvHeads} key-value heads`);
    return { heads, kvHeads, headDim: width ?? headDim };
  }

  feedForwardSize(layer: number): number {
    return this.ofLayer('feed_forward_length', layer, { least: 1, most: MOST_WIDTH });
  }

  has(tensor: string): boolean {
    return this.#all.has(tensor);
  }

  /** Elements of one size of a tensor; 0 where there is none. */
  sizeOf(tensor: string, dimension: number): number {
    return this.#all.get(tensor)?.shape[dimension] ?? 0;
  }

  /** A matrix that maps `inputs` to `rows`, or with `count` as many of them. */
  matrix(name: string, inputs: number, rows: number, count?: number): GgufTensorInfo {
    return this.#take(name, count === undefined ? [inputs, rows] : [inputs, rows, count]);
  }

  /** Vectors are small and are never stored in blocks. */
  vector(name: string, ...shape: readonly number[]): GgufTensorInfo {
    const tensor = this.#take(name, shape);
    if (BLOCK_LAYOUTS[tensor.type].blockSize === 1) return tensor;
    throw unsupported(`tensor "${name}" is a vector of type ${tensor.type}`, { tensor: name, type: tensor.type });
  }

  /** Tensors that have a role which is not used: they are not loaded. @param prefix of their names */
  leaveOut(prefix: string): void {
    for (const name of this.#unused.keys()) if (name.startsWith(prefix)) this.#unused.delete(name);
  }

  /** A tensor without a role would be left out of the result silently. */
  refuseUnused(): void {
    const [name] = this.#unused.keys();
    if (name !== undefined) throw unsupported(`tensor "${name}" has no place in its architecture`, { tensor: name });
  }

  #take(name: string, shape: readonly number[]): GgufTensorInfo {
    const tensor = this.#unused.get(name);
    if (tensor === undefined) throw invalid(`the tensor "${name}" is missing`, { tensor: name });
    const same = tensor.shape.length === shape.length && shape.every((size, index) => tensor.shape[index] === size);
    if (!same) {
      const [is, must] = [tensor.shape.join(', '), shape.join(', ')];
      throw invalid(`tensor "${name}" has the shape [${is}], and must have [${must}]`, { tensor: name });
    }
    this.#unused.delete(name);
    return tensor;
  }
}
