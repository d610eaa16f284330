import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { matrixBytes } from '../kernels/formats/formats.ts';
import type { MatrixPlan, WeightPlan } from '../weights/weight-plan.ts';
import { modelSizes } from './model-sizes.ts';

export interface StepCost {
  bytes: { weights: number; kv: number; activations: number };
  flop: number;
}

/** What a step reads, writes and computes, counted from shapes. */
export class StepCosts {
  readonly #config: ModelConfig;
  readonly #layerBytes: number;
  readonly #layerWeights: number;
  readonly #outputBytes: number;
  readonly #outputWeights: number;
  readonly #embeddingRowBytes: number;
  readonly #kvBytesPerToken: number;
  readonly #rowWords: number;
  readonly #logitsWords: number;

  constructor(config: ModelConfig, weights: WeightPlan) {
    const bytes = (plans: readonly MatrixPlan[]) =>
      plans.reduce((sum, { format, rows, cols }) => sum + matrixBytes(format, rows, cols), 0);
    const values = (plans: readonly MatrixPlan[]) => plans.reduce((sum, { rows, cols }) => sum + rows * cols, 0);
    const layers = weights.layers.flatMap((layer) => [...layer.qkv, layer.attnOutput, layer.gateUp, layer.down]);
    const sizes = modelSizes(config);
    const [embedding] = weights.embedding;
    this.#config = config;
    this.#layerBytes = bytes(layers);
    this.#layerWeights = values(layers);
    this.#outputBytes = bytes(weights.output);
    this.#outputWeights = values(weights.output);
    this.#embeddingRowBytes = embedding ? matrixBytes(embedding.format, 1, embedding.cols) : 0;
    this.#kvBytesPerToken = sizes.kvBytesPerToken;
    // Written once and read once: x twice a layer, qkv, attention, ffn.
    this.#rowWords =
      2 * config.layers.length * (2 * config.hiddenSize + sizes.qRows * 2 + sizes.kvRows * 2 + config.ffnSize);
    this.#logitsWords = 2 * config.vocabSize;
  }

  /**
   * @param contexts of each row: tokens it attends to, itself included
   * @param samples rows of logits
   * @param lengths of each sequence, with the tokens of the step: its KV is read once for all of its rows
   */
  of(contexts: readonly number[], samples: number, lengths: readonly number[]): StepCost {
    const { layers, heads, headDim } = this.#config;
    const rows = contexts.length;
    let attended = 0;
    for (const context of contexts) {
      for (const { window } of layers) attended += Math.min(context, window ?? context);
    }
    const kvTokens = lengths.reduce((sum, length) => sum + length, 0);
    const windowShare = rows === 0 ? 1 : attended / layers.length / contexts.reduce((sum, c) => sum + c, 0);
    return {
      bytes: {
        weights: this.#layerBytes + (samples > 0 ? this.#outputBytes : 0) + rows * this.#embeddingRowBytes,
        kv: Math.round((kvTokens * windowShare + rows) * this.#kvBytesPerToken),
        activations: 4 * (rows * this.#rowWords + samples * this.#logitsWords),
      },
      flop: 2 * (rows * this.#layerWeights + samples * this.#outputWeights) + 4 * attended * heads * headDim,
    };
  }
}
