import type { BlockNeeds } from '../../../blocks/block.ts';
import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { matrixBytes } from '../../weights/unit-formats.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { WeightPlan } from '../weights/weight-plan.ts';
import { modelSizes, needsOf } from './model-sizes.ts';

export interface StepCost {
  bytes: { weights: number; kv: number; activations: number };
  flop: number;
}

/** What a step reads, writes and computes, counted from shapes. */
export class StepCosts {
  readonly #attention: readonly NonNullable<BlockNeeds['attends']>[];
  readonly #layerBytes: number;
  readonly #layerWeights: number;
  /** Matrices of which a row needs a share: experts. */
  readonly #picked: readonly { share: number; bytes: number; weights: number }[];
  readonly #outputBytes: number;
  readonly #outputWeights: number;
  readonly #embeddingRowBytes: number;
  readonly #kvBytesPerToken: number;
  readonly #rowWords: number;
  readonly #stateBytes: number;
  readonly #rowFlop: number;
  readonly #logitsWords: number;

  constructor(config: ModelConfig, weights: Pick<WeightPlan, 'blocks' | 'output' | 'embedding'>) {
    const bytes = (plans: readonly MatrixPlan[]) =>
      plans.reduce((sum, { format, rows, cols }) => sum + matrixBytes(format, rows, cols), 0);
    const values = (plans: readonly MatrixPlan[]) => plans.reduce((sum, { rows, cols }) => sum + rows * cols, 0);
    const layers = weights.blocks.flatMap((block) => block.matrices);
    const sizes = modelSizes(config);
    this.#stateBytes = sizes.stateBytes;
    this.#rowFlop = needsOf(config).reduce((sum, { flop = 0 }) => sum + flop, 0);
    const [embedding] = weights.embedding;
    this.#attention = needsOf(config).flatMap(({ attends }) => (attends ? [attends] : []));
    const whole = layers.filter(({ picked }) => !picked);
    this.#layerBytes = bytes(whole);
    this.#layerWeights = values(whole);
    this.#picked = layers.flatMap((plan) =>
      plan.picked
        ? [{ share: plan.picked.used / plan.picked.count, bytes: bytes([plan]), weights: values([plan]) }]
        : [],
    );
    this.#outputBytes = bytes(weights.output);
    this.#outputWeights = values(weights.output);
    this.#embeddingRowBytes = embedding ? matrixBytes(embedding.format, 1, embedding.cols) : 0;
    this.#kvBytesPerToken = sizes.kvBytesPerToken;
    this.#rowWords = sizes.activations;
    this.#logitsWords = 2 * config.vocabSize;
  }

  /**
   * @param contexts of each row: tokens it attends to, itself included
   * @param samples rows of logits
   * @param lengths of each sequence, with the tokens of the step: its KV is read once for all of its rows
   */
  of(contexts: readonly number[], samples: number, lengths: readonly number[]): StepCost {
    const rows = contexts.length;
    let attentionFlop = 0;
    // State of a sequence is read and written once a step.
    let kvBytes = rows * this.#kvBytesPerToken + 2 * lengths.length * this.#stateBytes;
    for (const { heads, kvHeads, headDim, window = Infinity } of this.#attention) {
      for (const context of contexts) attentionFlop += 4 * Math.min(context, window) * heads * headDim;
      for (const length of lengths) kvBytes += Math.min(length, window + rows - 1) * kvHeads * headDim * 4;
    }
    let [pickedBytes, pickedWeights] = [0, 0];
    for (const { share, bytes, weights } of this.#picked) {
      // Rows choose independently: what is left of the experts that none of them needs.
      pickedBytes += Math.round(bytes * (1 - (1 - share) ** rows));
      pickedWeights += weights * share;
    }
    return {
      bytes: {
        weights:
          pickedBytes + this.#layerBytes + (samples > 0 ? this.#outputBytes : 0) + rows * this.#embeddingRowBytes,
        kv: kvBytes,
        activations: 4 * (rows * this.#rowWords + samples * this.#logitsWords),
      },
      flop:
        2 * (rows * (this.#layerWeights + pickedWeights) + samples * this.#outputWeights) +
        rows * this.#rowFlop +
        attentionFlop,
    };
  }
}
