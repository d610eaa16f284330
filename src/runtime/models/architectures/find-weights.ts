import { invalid, unsupported } from '../gguf/header-cursor.ts';
import type { GgufHeader, GgufTensorInfo } from '../gguf/header.ts';
import { BLOCK_LAYOUTS } from '../gguf/tensor-types.ts';
import type { LayerWeights, ModelConfig, ModelWeights } from './model-config.ts';

/** Tensors of the file by role. @throws TokenglassError `model-invalid`, `model-unsupported`; names the tensor */
export function findWeights(config: ModelConfig, header: GgufHeader): ModelWeights {
  const { hiddenSize, vocabSize } = config;
  const finder = new TensorFinder(header.tensors);
  const rope = config.layers[0]!.rope;
  const weights: ModelWeights = {
    tokenEmbedding: finder.matrix('token_embd.weight', hiddenSize, vocabSize),
    layers: config.layers.map((_, layer) => findLayer(config, finder, `blk.${layer}.`)),
    outputNorm: finder.vector('output_norm.weight', hiddenSize),
    ...(config.tiedOutput ? {} : { output: finder.matrix('output.weight', hiddenSize, vocabSize) }),
    ...findRopeFactors(finder, rope.dims / 2, config),
  };
  finder.refuseUnused();
  return weights;
}

function findLayer(config: ModelConfig, finder: TensorFinder, prefix: string): LayerWeights {
  const { hiddenSize, ffnSize, headDim } = config;
  const qRows = config.heads * headDim;
  const kvRows = config.kvHeads * headDim;
  const vector = (name: string, size: number) => finder.vector(`${prefix}${name}`, size);
  const matrix = (name: string, inputs: number, rows: number) => finder.matrix(`${prefix}${name}`, inputs, rows);
  return {
    attnNorm: vector('attn_norm.weight', hiddenSize),
    ...(config.fusedQkv
      ? { qkv: matrix('attn_qkv.weight', hiddenSize, qRows + 2 * kvRows) }
      : {
          q: matrix('attn_q.weight', hiddenSize, qRows),
          k: matrix('attn_k.weight', hiddenSize, kvRows),
          v: matrix('attn_v.weight', hiddenSize, kvRows),
        }),
    ...(config.qkvBias && {
      qBias: vector('attn_q.bias', qRows),
      kBias: vector('attn_k.bias', kvRows),
      vBias: vector('attn_v.bias', kvRows),
    }),
    ...(config.qkNorm && { qNorm: vector('attn_q_norm.weight', headDim), kNorm: vector('attn_k_norm.weight', headDim) }),
    attnOutput: matrix('attn_output.weight', qRows, hiddenSize),
    ...(config.postNorms && { postAttnNorm: vector('post_attention_norm.weight', hiddenSize) }),
    ffnNorm: vector('ffn_norm.weight', hiddenSize),
    ...(config.fusedGateUp
      ? { gateUp: matrix('ffn_up.weight', hiddenSize, 2 * ffnSize) }
      : { gate: matrix('ffn_gate.weight', hiddenSize, ffnSize), up: matrix('ffn_up.weight', hiddenSize, ffnSize) }),
    down: matrix('ffn_down.weight', ffnSize, hiddenSize),
    ...(config.postNorms && { postFfnNorm: vector('post_ffw_norm.weight', hiddenSize) }),
  };
}

function findRopeFactors(finder: TensorFinder, pairs: number, config: ModelConfig): Partial<ModelWeights> {
  const global = config.layers.find(({ rope }) => rope.scaling.type === 'longrope');
  if (global !== undefined) {
    return {
      ropeFactorsShort: finder.vector('rope_factors_short.weight', pairs),
      ropeFactorsLong: finder.vector('rope_factors_long.weight', pairs),
    };
  }
  return finder.has('rope_freqs.weight') ? { ropeFactors: finder.vector('rope_freqs.weight', pairs) } : {};
}

class TensorFinder {
  #unused: Map<string, GgufTensorInfo>;

  constructor(tensors: readonly GgufTensorInfo[]) {
    this.#unused = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  }

  has(name: string): boolean {
    return this.#unused.has(name);
  }

  matrix(name: string, inputs: number, rows: number): GgufTensorInfo {
    return this.#find(name, [inputs, rows]);
  }

  /** Vectors are small and are never stored in blocks. */
  vector(name: string, size: number): GgufTensorInfo {
    const tensor = this.#find(name, [size]);
    if (BLOCK_LAYOUTS[tensor.type].blockSize === 1) return tensor;
    throw unsupported(`tensor "${name}" is a vector of type ${tensor.type}`, { tensor: name, type: tensor.type });
  }

  /** A tensor without a role would be left out of the result silently. */
  refuseUnused(): void {
    const [name] = this.#unused.keys();
    if (name !== undefined) throw unsupported(`tensor "${name}" has no place in its architecture`, { tensor: name });
  }

  #find(name: string, shape: readonly number[]): GgufTensorInfo {
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
