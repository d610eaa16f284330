import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_TYPE, initializer, node, onnxModel, valueInfo, type NodeOptions, type OnnxArray } from '../../src/runtime/backends/onnx/testing/onnx-writer.ts';
import { describeModel } from '../../src/runtime/models/architectures/describe-model.ts';
import type { AttentionConfig } from '../../src/runtime/blocks/attention/attention.ts';
import type { ModelDescription } from '../../src/runtime/models/architectures/model-config.ts';
import { ropeFrequencies } from '../../src/runtime/models/architectures/rope-frequencies.ts';
import { dequantize } from '../../src/runtime/models/gguf/dequantize.ts';
import { f16Table } from '../../src/runtime/models/gguf/f16.ts';
import type { GgufMetadata, GgufTensorInfo } from '../../src/runtime/models/gguf/header.ts';
import { readGgufHeader } from '../../src/runtime/models/gguf/read-header.ts';

/**
 * Writes a Q4_0 file of a llama architecture anew in the layout of onnx-community repositories, with the very same INT4 values and scales
 * (MatMulNBits with blocks of 32 and no zero points is Q4_0): for side-by-side runs of engines that read the one format or the other.
 */
const USAGE = 'node --import tsx tools/models/gguf-to-onnx.ts FILE.gguf FOLDER';

const [path, folder] = process.argv.slice(2);
if (path === undefined || folder === undefined) {
  console.error(USAGE);
  process.exit(1);
}
const file = new Uint8Array(readFileSync(path));
const header = await readGgufHeader(file, { totalBytes: file.length });
const model = describeModel(header);
if (header.metadata.get('general.architecture') !== 'llama' || model.weights.ropeFactors || layersOf(model).some(({ attention }) => attention.config.bias))
  throw new TypeError(`Cannot convert ${path}: only plain llama models are`);

/** The two blocks of each layer. */
function layersOf({ layers }: ModelDescription) {
  return layers.map(({ blocks: [attention, dense] }) => {
    if (attention?.kind !== 'attention' || dense?.kind !== 'dense') throw new TypeError(`Cannot convert ${path}: its layers are no attention and feed-forward`);
    return { attention, dense };
  });
}

const domain = 'com.microsoft';

class Graph {
  readonly nodes: Uint8Array[] = [];
  readonly initializers: Uint8Array[] = [];

  constant(name: string, dims: readonly number[], data: OnnxArray): string {
    this.initializers.push(initializer(name, dims, data));
    return name;
  }

  /** @returns the first output */
  node(op: string, inputs: readonly string[], outputs: string | readonly string[], options?: NodeOptions): string {
    const names = typeof outputs === 'string' ? [outputs] : outputs;
    this.nodes.push(node(op, inputs, names, options));
    return names[0]!;
  }

  norm(name: string, tensor: GgufTensorInfo): string {
    return this.constant(`${name}.weight`, tensor.shape, dequantize(tensor.type, dataOf(tensor)));
  }

  /** @param order rows in the order that the graph has them */
  matmul(x: string, name: string, tensor: GgufTensorInfo, { output = `${name}/out`, order }: { output?: string; order?: number[] } = {}): string {
    const [cols, rows] = tensor.shape as [number, number];
    const { units, scales } = repack(tensor, order);
    const weight = this.constant(`${name}.weight_q4`, [rows, cols / 32, 16], units);
    const scale = this.constant(`${name}.weight_scales`, [scales.length], scales);
    const ints = { K: cols, N: rows, bits: 4, block_size: 32 };
    return this.node('MatMulNBits', [x, weight, scale], output, { domain, ints });
  }
}

const dataOf = (tensor: GgufTensorInfo): Uint8Array => file.subarray(tensor.offset, tensor.offset + tensor.byteLength);

/** Q4_0 has elements j and j + 16 of a block in a byte, MatMulNBits neighbours 2j and 2j + 1. */
function repack(tensor: GgufTensorInfo, order?: readonly number[]) {
  if (tensor.type !== 'Q4_0') throw new TypeError(`Cannot convert ${tensor.name}: it is ${tensor.type}; only Q4_0 is`);
  const [cols, rows] = tensor.shape as [number, number];
  const bytes = dataOf(tensor);
  const half = f16Table();
  const perRow = cols / 32;
  const units = new Uint8Array(rows * perRow * 16);
  const scales = new Float32Array(rows * perRow);
  for (let unit = 0; unit < scales.length; unit++) {
    const row = Math.floor(unit / perRow);
    const from = ((order?.[row] ?? row) * perRow + (unit % perRow)) * 18;
    scales[unit] = half[bytes[from]! | (bytes[from + 1]! << 8)]!;
    for (let j = 0; j < 8; j++) {
      const [a, b] = [bytes[from + 2 + 2 * j]!, bytes[from + 3 + 2 * j]!];
      units[unit * 16 + j] = (a & 15) | ((b & 15) << 4);
      units[unit * 16 + 8 + j] = (a >> 4) | (b & 0xf0);
    }
  }
  return { units, scales };
}

/** Rows of query and key heads from interleaved pairs to halves, which GroupQueryAttention rotates by default. */
function halvesOrder(rows: number, { headDim }: AttentionConfig): number[] {
  return Array.from({ length: rows }, (_, row) => {
    const i = row % headDim;
    const pair = i % (headDim / 2);
    return row - i + 2 * pair + (i < headDim / 2 ? 0 : 1);
  });
}

function build(description: ModelDescription): Uint8Array {
  const { config, weights } = description;
  const { vocabSize, hiddenSize, contextTokens, normEps } = config;
  const layers = layersOf(description);
  const own = layers[0]!.attention.config;
  const { headDim, heads, kvHeads } = own;
  const g = new Graph();
  const { radians, magnitude } = ropeFrequencies(own.rope!);
  const table = (f: (angle: number) => number) =>
    Float32Array.from({ length: contextTokens * radians.length }, (_, at) => f(Math.floor(at / radians.length) * radians[at % radians.length]!) * magnitude);
  const tables = [g.constant('cos_cache', [contextTokens, headDim / 2], table(Math.cos)), g.constant('sin_cache', [contextTokens, headDim / 2], table(Math.sin))];
  const one = g.constant('one', [1], new BigInt64Array([1n]));
  const axis = g.constant('axis_length', [], new BigInt64Array([1n]));
  const total = g.node('ReduceSum', ['attention_mask', one], '/mask/total', { ints: { keepdims: 0 } });
  const seqlens = g.node('Cast', [g.node('Sub', [total, one], '/mask/before')], '/mask/seqlens', { ints: { to: DATA_TYPE.int32 } });
  const width = g.node('Gather', [g.node('Shape', ['attention_mask'], '/mask/dims'), axis], '/mask/width', { ints: { axis: 0 } });
  const totalLength = g.node('Cast', [width], '/mask/total_length', { ints: { to: DATA_TYPE.int32 } });

  const { units, scales } = repack(weights.tokenEmbedding);
  const embedding = g.constant('embed.weight_q4', [vocabSize, hiddenSize / 2], units);
  const embeddingScales = g.constant('embed.weight_scales', [vocabSize, hiddenSize / 32], scales);
  let residual = g.node('GatherBlockQuantized', [embedding, 'input_ids', embeddingScales], '/embed', {
    domain,
    ints: { bits: 4, block_size: 32, gather_axis: 0, quantize_axis: 1 },
  });
  let x = g.node('SimplifiedLayerNormalization', [residual, g.norm('layers.0.attn_norm', layers[0]!.attention.weights.norm!)], '/layers.0.attn_norm', {
    ints: { axis: -1, stash_type: 1 },
    floats: { epsilon: normEps },
  });
  const kvNames: [past: string, present: string][] = [];
  for (const [index, { attention, dense }] of layers.entries()) {
    const at = `layers.${index}`;
    const qkOrder = (rows: number) => ({ order: halvesOrder(rows, own) });
    const q = g.matmul(x, `${at}.q`, attention.weights.q!, qkOrder(heads * headDim));
    const k = g.matmul(x, `${at}.k`, attention.weights.k!, qkOrder(kvHeads * headDim));
    const v = g.matmul(x, `${at}.v`, attention.weights.v!);
    const names = ['key', 'value'].map((name): [string, string] => [`past_key_values.${index}.${name}`, `present.${index}.${name}`]);
    kvNames.push(...names);
    const mixed = g.node('GroupQueryAttention', [q, k, v, ...names.map(([past]) => past), seqlens, totalLength, ...tables], [`/${at}/mixed`, ...names.map(([, present]) => present)], {
      domain,
      ints: { num_heads: heads, kv_num_heads: kvHeads, do_rotary: 1, rotary_interleaved: 0 },
      floats: { scale: own.scale },
    });
    const skipNorm = (input: string, name: string, tensor: GgufTensorInfo, isLast = false): string => {
      const outputs = [`/${name}/normed`, ...(isLast ? [] : ['', '', `/${name}/sum`])];
      const normed = g.node('SkipSimplifiedLayerNormalization', [input, residual, g.norm(name, tensor)], outputs, { domain, floats: { epsilon: normEps } });
      residual = outputs.at(-1)!;
      return normed;
    };
    x = skipNorm(g.matmul(mixed, `${at}.o`, attention.weights.output), `${at}.ffn_norm`, dense.weights.norm!);
    const gate = g.matmul(x, `${at}.gate`, dense.weights.gate!);
    const silu = g.node('Mul', [gate, g.node('Sigmoid', [gate], `/${at}/sigmoid`)], `/${at}/silu`);
    const gated = g.node('Mul', [silu, g.matmul(x, `${at}.up`, dense.weights.up!)], `/${at}/gated`);
    const down = g.matmul(gated, `${at}.down`, dense.weights.down);
    const next = layers[index + 1]?.attention.weights.norm;
    x = next ? skipNorm(down, `layers.${index + 1}.attn_norm`, next) : skipNorm(down, 'norm', weights.outputNorm, true);
  }
  g.matmul(x, 'lm_head', weights.output ?? weights.tokenEmbedding, { output: 'logits' });
  const kv = (name: string, length: string) => valueInfo(name, DATA_TYPE.float32, ['batch_size', kvHeads, length, headDim]);
  return onnxModel({
    nodes: g.nodes,
    initializers: g.initializers,
    inputs: [
      valueInfo('input_ids', DATA_TYPE.int64, ['batch_size', 'sequence_length']),
      valueInfo('attention_mask', DATA_TYPE.int64, ['batch_size', 'total_sequence_length']),
      ...kvNames.map(([past]) => kv(past, 'past_sequence_length')),
    ],
    outputs: [
      valueInfo('logits', DATA_TYPE.float32, ['batch_size', 'sequence_length', vocabSize]),
      ...kvNames.map(([, present]) => kv(present, 'total_sequence_length')),
    ],
  });
}

/** config.json and its like, as onnx-community repositories have them; the tokenizer is byte-level BPE. */
function configFiles(description: ModelDescription, metadata: GgufMetadata): Record<string, object> {
  const { config } = description;
  const [{ attention, dense }] = layersOf(description) as [ReturnType<typeof layersOf>[number]];
  const tokens = metadata.get('tokenizer.ggml.tokens') as readonly string[];
  const types = metadata.get('tokenizer.ggml.token_type') as Int32Array;
  if (metadata.get('tokenizer.ggml.model') !== 'gpt2') throw new TypeError('Cannot convert the tokenizer: only byte-level BPE is');
  const id = (name: string) => Number(metadata.get(`tokenizer.ggml.${name}_token_id`));
  const ids = { bos_token_id: id('bos'), eos_token_id: id('eos') };
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  const isControl = (index: number): boolean => types[index] === 3;
  return {
    'config.json': {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      vocab_size: config.vocabSize,
      hidden_size: config.hiddenSize,
      intermediate_size: dense.config.size,
      num_hidden_layers: config.layers.length,
      num_attention_heads: attention.config.heads,
      num_key_value_heads: attention.config.kvHeads,
      head_dim: attention.config.headDim,
      hidden_act: 'silu',
      rms_norm_eps: config.normEps,
      rope_theta: attention.config.rope?.base,
      max_position_embeddings: config.contextTokens,
      tie_word_embeddings: config.tiedOutput,
      ...ids,
    },
    'generation_config.json': ids,
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: tokens[ids.bos_token_id],
      eos_token: tokens[ids.eos_token_id],
      chat_template: metadata.get('tokenizer.chat_template'),
      model_max_length: config.contextTokens,
      clean_up_tokenization_spaces: false,
    },
    'tokenizer.json': {
      version: '1.0',
      added_tokens: [...tokens.entries()]
        .filter(([index]) => isControl(index))
        .map(([index, content]) => ({ id: index, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false })),
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: 'BPE',
        vocab: Object.fromEntries([...tokens.entries()].map(([index, token]) => [token, index])),
        merges: metadata.get('tokenizer.ggml.merges'),
      },
    },
  };
}

mkdirSync(join(folder, 'onnx'), { recursive: true });
for (const [name, content] of Object.entries(configFiles(model, header.metadata))) writeFileSync(join(folder, name), JSON.stringify(content));
const onnx = build(model);
writeFileSync(join(folder, 'onnx', 'model_q4.onnx'), onnx);
console.log(`${folder}: ${(onnx.length / 1e6).toFixed(1)} MB`);
