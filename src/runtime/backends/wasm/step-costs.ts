import { blockNeeds } from '../../blocks/block-needs.ts';
import type { ModelDescription } from '../../models/architectures/model-config.ts';
import type { WasmMatrix } from './weights.ts';
import type { WasmPlan } from './plan.ts';

export interface StepCost {
  bytes: { weights: number; kv: number; activations: number };
  flop: number;
}

/** What a step reads, writes and computes, counted from shapes. */
export class StepCosts {
  readonly #needs: ReturnType<typeof blockNeeds>[];
  readonly #layers: readonly WasmMatrix[];
  readonly #plan: WasmPlan;
  readonly #hiddenSize: number;

  constructor({ layers, config }: ModelDescription, plan: WasmPlan) {
    this.#plan = plan;
    this.#hiddenSize = config.hiddenSize;
    this.#needs = layers.flatMap(({ blocks }) => blocks.map((block) => blockNeeds(block.config)));
    const { output, embedding } = plan;
    this.#layers = [...plan.matrices.values()].filter((matrix) => matrix !== output && matrix !== embedding);
  }

  /**
   * @param contexts of each token row: tokens it attends to, itself included
   * @param samples rows of logits
   * @param lengths of each sequence, with the tokens of the step
   */
  of(contexts: readonly number[], samples: number, lengths: readonly number[]): StepCost {
    const { output, embedding } = this.#plan;
    const rows = contexts.length;
    const bytes = { weights: rows * (embedding.groupBytes / 4), kv: 0, activations: samples * output.rows * 8 };
    let flop = 2 * samples * output.rows * output.cols;
    for (const matrix of this.#layers) {
      bytes.weights += matrix.bytes;
      flop += 2 * rows * matrix.rows * matrix.cols;
    }
    if (samples > 0) bytes.weights += output.bytes;
    for (const { kv, attends, projected, mixed, inner } of this.#needs) {
      bytes.activations += rows * 8 * (this.#hiddenSize + projected + mixed + inner);
      if (!kv || !attends) continue;
      const { window = Infinity } = attends;
      for (const context of contexts) flop += 4 * Math.min(context, window) * attends.heads * attends.headDim;
      const read = lengths.reduce((sum, length) => sum + Math.min(length, window + rows - 1), 0);
      bytes.kv += (read + rows) * kv.heads * kv.headDim * 8;
    }
    return { bytes, flop };
  }
}
