import type { ModelSource } from '../../../models/source.ts';
import { TokenglassError } from '../../../../shared/errors.ts';
import { DATA_TYPE, initializer, node, onnxModel, valueInfo, type OnnxArray } from './onnx-writer.ts';

/** Sizes of the model that {@link tinyModel} makes. */
export const TINY = {
  vocab: 96,
  hidden: 64,
  heads: 2,
  kvHeads: 1,
  headDim: 32,
  inner: 96,
  layers: 2,
  context: 256,
} as const;

export interface TinyModel {
  model: Uint8Array<ArrayBuffer>;
  /** Set where the weights of the output matrix were put in a file of their own. */
  external?: Uint8Array<ArrayBuffer>;
  config: Record<string, unknown>;
}

export interface TinyModelOptions {
  /** Put the output matrix into external data. */
  split?: boolean;
  /** With the input position_ids, as some exports have it. */
  positionIds?: boolean;
  /** KV, attention and logits in f16. */
  half?: boolean;
  layers?: number;
}

/**
 * A decoder with random INT4 weights in the operators of onnx-community exports (MatMulNBits, GroupQueryAttention with rotary,
 * SimplifiedLayerNormalization), with `half` in f16 where q4f16 exports have it (KV, attention, logits): small enough that a step on a software adapter takes a fraction of a second.
 */
export function tinyModel(options: TinyModelOptions = {}): TinyModel {
  const { split = false, positionIds = false, half = false, layers = TINY.layers } = options;
  const random = mulberry32(7);
  const graph = new GraphBuilder(random);
  const { vocab, hidden, heads, kvHeads, headDim, inner, context } = TINY;
  graph.float('embed', [vocab, hidden], () => gauss(random));
  graph.float('cos', [context, headDim / 2], (i) => Math.cos(angle(i)));
  graph.float('sin', [context, headDim / 2], (i) => Math.sin(angle(i)));
  graph.add('one', [1], new BigInt64Array([1n]));
  graph.add('index', [], new BigInt64Array([1n]));
  graph.node('Gather', ['embed', 'input_ids'], 'x');
  graph.node('ReduceSum', ['attention_mask', 'one'], 'length', { ints: { keepdims: 0 } });
  graph.node('Sub', ['length', 'one'], 'last');
  graph.node('Cast', ['last'], 'seqlens', { ints: { to: DATA_TYPE.int32 } });
  graph.node('Shape', ['attention_mask'], 'shape');
  graph.node('Gather', ['shape', 'index'], 'total64');
  graph.node('Cast', ['total64'], 'total', { ints: { to: DATA_TYPE.int32 } });
  const kv: string[] = [];
  let x = 'x';
  for (let layer = 0; layer < layers; layer++) {
    const at = (name: string): string => `${name}.${layer}`;
    const normed = graph.norm(at('attention_norm'), x);
    const q = graph.matrix(at('q'), normed, hidden, heads * headDim);
    const k = graph.matrix(at('k'), normed, hidden, kvHeads * headDim);
    const v = graph.matrix(at('v'), normed, hidden, kvHeads * headDim);
    const past = ['key', 'value'].map((name) => `past_key_values.${layer}.${name}`);
    const present = ['key', 'value'].map((name) => `present.${layer}.${name}`);
    kv.push(...past);
    const [toKv, fromKv] = half
      ? [(name: string) => graph.cast(name, 'float16'), (name: string) => graph.cast(name, 'float32')]
      : [(name: string) => name, (name: string) => name];
    const inputs = [q, k, v].map(toKv);
    const tables = ['cos', 'sin'].map(toKv);
    graph.nodes.push(
      node('GroupQueryAttention', [...inputs, ...past, 'seqlens', 'total', ...tables], [at('attended'), ...present], {
        domain: 'com.microsoft',
        ints: { num_heads: heads, kv_num_heads: kvHeads, do_rotary: 1 },
      }),
    );
    const attended = fromKv(at('attended'));
    const after = graph.node('Add', [x, graph.matrix(at('o'), attended, heads * headDim, hidden)], at('after'));
    const inNorm = graph.norm(at('mlp_norm'), after);
    const gate = graph.matrix(at('gate'), inNorm, hidden, inner);
    const up = graph.matrix(at('up'), inNorm, hidden, inner);
    const silu = graph.node('Mul', [gate, graph.node('Sigmoid', [gate], at('sigmoid'))], at('silu'));
    const down = graph.matrix(at('down'), graph.node('Mul', [silu, up], at('gated')), inner, hidden);
    x = graph.node('Add', [after, down], at('out'));
  }
  const head = graph.matrix('head', graph.norm('final_norm', x), hidden, vocab, half ? 'wide' : 'logits', split);
  if (half) graph.node('Cast', [head], 'logits', { ints: { to: DATA_TYPE.float16 } });
  const type = half ? DATA_TYPE.float16 : DATA_TYPE.float32;
  const kvDims = ['batch', kvHeads, 'past', headDim] as const;
  const model = onnxModel({
    nodes: graph.nodes,
    initializers: graph.initializers,
    inputs: [
      valueInfo('input_ids', DATA_TYPE.int64, ['batch', 'tokens']),
      valueInfo('attention_mask', DATA_TYPE.int64, ['batch', 'total']),
      ...(positionIds ? [valueInfo('position_ids', DATA_TYPE.int64, ['batch', 'tokens'])] : []),
      ...kv.map((name) => valueInfo(name, type, kvDims)),
    ],
    outputs: [
      valueInfo('logits', type, ['batch', 'tokens', vocab]),
      ...kv.map((name) => valueInfo(name.replace('past_key_values', 'present'), type, kvDims)),
    ],
  });
  const config = {
    model_type: 'llama',
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    num_hidden_layers: layers,
    max_position_embeddings: context,
    vocab_size: vocab,
  };
  return { model, config, ...(graph.external && { external: graph.external }) };
}

/** Files in memory as a source; a path that is not there is `model-not-found`. */
export function memorySource(
  files: Readonly<Record<string, Uint8Array<ArrayBuffer> | object>>,
  id = 'memory',
): ModelSource {
  return {
    id,
    kind: 'file',
    open(path) {
      const file = files[path];
      if (!file) return Promise.reject(new TokenglassError('model-not-found', `Cannot load ${path}: there is none`));
      const bytes = file instanceof Uint8Array ? file : new TextEncoder().encode(JSON.stringify(file));
      return Promise.resolve({ totalBytes: bytes.length, stream: new Blob([bytes]).stream() });
    },
  };
}

/** A source of the tiny model, in the layout of onnx-community repositories. */
export function tinySource(options: TinyModelOptions = {}): ModelSource {
  const { model, external, config } = tinyModel(options);
  const files = { 'config.json': config, [`onnx/model_${options.half ? 'q4f16' : 'q4'}.onnx`]: model };
  return memorySource(external ? { ...files, 'onnx/model_q4.onnx_data': external } : files, 'tiny');
}

const angle = (index: number): number => {
  const half = TINY.headDim / 2;
  return Math.floor(index / half) * 10000 ** (-(index % half) / half);
};

class GraphBuilder {
  readonly nodes: Uint8Array[] = [];
  readonly initializers: Uint8Array[] = [];
  external: Uint8Array<ArrayBuffer> | undefined;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  add(name: string, dims: readonly number[], data: OnnxArray): string {
    this.initializers.push(initializer(name, dims, data));
    return name;
  }

  float(name: string, dims: readonly number[], value: (index: number) => number): string {
    return this.add(
      name,
      dims,
      Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => value(i)),
    );
  }

  node(op: string, inputs: readonly string[], output: string, options?: Parameters<typeof node>[3]): string {
    this.nodes.push(node(op, inputs, [output], options));
    return output;
  }

  /** Each use casts anew, under a name of its own. */
  cast(input: string, to: 'float16' | 'float32'): string {
    return this.node('Cast', [input], `${input}.${to}.${this.nodes.length}`, { ints: { to: DATA_TYPE[to] } });
  }

  norm(name: string, input: string): string {
    const gamma = this.float(`${name}.gamma`, [TINY.hidden], () => 1 + 0.1 * gauss(this.#random));
    return this.node('SimplifiedLayerNormalization', [input, gamma], name, {
      ints: { axis: -1 },
      floats: { epsilon: 1e-5 },
    });
  }

  /** [rows, inputs] times [inputs, outputs], weights in INT4 with a scale for each 32: scale * (q - 8). */
  matrix(name: string, input: string, inputs: number, outputs: number, output = name, split = false): string {
    const blocks = inputs / 32;
    const packed = Uint8Array.from({ length: outputs * blocks * 16 }, () => Math.floor(this.#random() * 256));
    const scale = 0.35 / Math.sqrt(inputs);
    if (split) this.external = packed;
    const file = split ? 'model_q4.onnx_data' : undefined;
    this.initializers.push(initializer(`${name}.weight`, [outputs, blocks, 16], packed, file));
    this.float(`${name}.scales`, [outputs * blocks], () => scale * (0.5 + this.#random()));
    return this.node('MatMulNBits', [input, `${name}.weight`, `${name}.scales`], output, {
      domain: 'com.microsoft',
      ints: { K: inputs, N: outputs, bits: 4, block_size: 32 },
    });
  }
}

/** A small seeded generator (Tommy Ettinger's mulberry32): numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Roughly normal: the sum of twelve uniform numbers. */
function gauss(random: () => number): number {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random();
  return sum;
}
