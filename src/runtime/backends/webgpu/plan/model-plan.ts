import { bindEmbed, embedKernel, type EmbedSpec } from '../kernels/embed/embed.ts';
import { record, type Dispatch } from '../kernels/pipeline.ts';
import type { SampleKernels, SampleVariant } from '../kernels/sample/sample-kernels.ts';
import { createAttentionSteps, type AttentionLayer } from './attention-steps.ts';
import { createChunkSteps, type ChunkLayer, type MatmulDispatch } from './chunk-steps.ts';
import { createFusedSteps, createOutputSteps, type FusedSteps, type PlanParts } from './fused-steps.ts';
import { modelSizes } from './model-sizes.ts';

/** What one step computes. */
export interface StepShape {
  rows: number;
  /** Rows that are the one new token of their sequence (decode); they come first. */
  singles: number;
  /** Shares of the context of those. */
  splits: number;
  /** Attention tiles of the others. */
  tiles: number;
  /** Rows of logits. */
  samples: number;
  variant: SampleVariant;
}

export interface ModelPlanOptions {
  /** Row counts that fused steps are made for, ascending; the last is the most. */
  fusedRows: readonly number[];
  /** Contexts can be long enough to be split. */
  splits: boolean;
  sampler: SampleKernels;
}

/** Everything that a step dispatches, made once. Recording a step makes nothing on the device. */
export class ModelPlan {
  readonly #embed: readonly Dispatch[];
  readonly #attention: readonly AttentionLayer[];
  readonly #fused: readonly FusedSteps[];
  /** Absent where chunks are computed by rows. */
  readonly #chunk: readonly ChunkLayer[] | undefined;
  /** By index of `fusedRows`: after fused steps, and after chunks. */
  readonly #output: readonly { m: number; fused: readonly Dispatch[]; chunk: readonly Dispatch[] }[];
  readonly #sampler: SampleKernels;

  private constructor(init: {
    embed: readonly Dispatch[];
    attention: readonly AttentionLayer[];
    fused: readonly FusedSteps[];
    chunk: readonly ChunkLayer[] | undefined;
    output: readonly { m: number; fused: readonly Dispatch[]; chunk: readonly Dispatch[] }[];
    sampler: SampleKernels;
  }) {
    this.#embed = init.embed;
    this.#attention = init.attention;
    this.#fused = init.fused;
    this.#chunk = init.chunk;
    this.#output = init.output;
    this.#sampler = init.sampler;
  }

  /** Compiles all kernels, in parallel, and binds all buffers. */
  static async create(parts: PlanParts, options: ModelPlanOptions): Promise<ModelPlan> {
    const [embed, attention, chunk, fused, output] = await Promise.all([
      createEmbedSteps(parts, options.sampler),
      createAttentionSteps(parts, options.splits),
      parts.matmulTile && createChunkSteps(parts, parts.matmulTile),
      Promise.all(options.fusedRows.map((m) => createFusedSteps(parts, m))),
      Promise.all(
        options.fusedRows.map(async (m) => {
          const [afterFused, afterChunk] = await Promise.all([
            createOutputSteps(parts, m, true),
            createOutputSteps(parts, m, false),
          ]);
          return { m, fused: afterFused, chunk: afterChunk };
        }),
      ),
    ]);
    return new ModelPlan({ embed, attention, chunk, fused, output, sampler: options.sampler });
  }

  /** Records a step; the step buffer is written before the pass is submitted. @returns dispatches recorded */
  record(pass: GPUComputePassEncoder, shape: StepShape): number {
    let count = 0;
    const run = (dispatch: Dispatch, x?: number, y?: number, z?: number): void => {
      record(pass, dispatch, x, y, z);
      count += 1;
    };
    for (const embed of this.#embed) run(embed, embed.x, shape.rows);
    const fused = this.#fused.find(({ m }) => m >= shape.rows) ?? (this.#chunk ? undefined : this.#fused.at(-1));
    if (fused) this.#recordFused(run, shape, fused);
    else if (this.#chunk) this.#recordChunk(run, shape, this.#chunk);
    if (shape.samples > 0) {
      const output = this.#output.find(({ m }) => m >= shape.samples) ?? this.#output.at(-1)!;
      const groups = Math.ceil(shape.samples / output.m);
      for (const dispatch of fused ? output.fused : output.chunk) run(dispatch, dispatch.x, groups);
      this.#sampler.encode(pass, shape.samples, shape.variant);
      count += 2;
    }
    return count;
  }

  #recordFused(run: Run, shape: StepShape, fused: FusedSteps): void {
    const groups = Math.ceil(shape.rows / fused.m);
    for (let index = 0; index < fused.layers.length; index++) {
      const layer = fused.layers[index]!;
      for (const qkv of layer.qkv) run(qkv, qkv.x, groups);
      this.#recordAttention(run, shape, this.#attention[index]!);
      run(layer.attnOutput, layer.attnOutput.x, groups);
      run(layer.gateUp, layer.gateUp.x, groups);
      run(layer.down, layer.down.x, groups);
    }
  }

  #recordChunk(run: Run, shape: StepShape, layers: readonly ChunkLayer[]): void {
    const matmul = (dispatch: MatmulDispatch): void =>
      run(dispatch, dispatch.x, Math.ceil(shape.rows / dispatch.tileRows));
    for (let index = 0; index < layers.length; index++) {
      const layer = layers[index]!;
      run(layer.attnNorm, shape.rows);
      for (const qkv of layer.qkv) matmul(qkv);
      this.#recordAttention(run, shape, this.#attention[index]!);
      matmul(layer.attnOutput);
      run(layer.ffnNorm, shape.rows);
      matmul(layer.gateUp);
      matmul(layer.down);
    }
  }

  #recordAttention(run: Run, shape: StepShape, layer: AttentionLayer): void {
    if (shape.singles > 0) {
      if (shape.splits > 1 && layer.split) {
        run(layer.split.parts, shape.splits, layer.split.parts.y, shape.singles);
        run(layer.split.merge, layer.split.merge.x, shape.singles);
      } else run(layer.one, 1, layer.one.y, shape.singles);
    }
    if (shape.rows === shape.singles) return;
    run(layer.rotate, layer.rotate.x, shape.rows - shape.singles);
    run(layer.many, layer.many.x, shape.tiles);
  }
}

type Run = (dispatch: Dispatch, x?: number, y?: number, z?: number) => void;

async function createEmbedSteps(parts: PlanParts, sampler: SampleKernels): Promise<Dispatch[]> {
  const { gpu, compiler, config, weights, matrices, buffers, layout } = parts;
  return Promise.all(
    weights.embedding.map(async (plan) => {
      const matrix = matrices.get(plan)!;
      const spec: EmbedSpec = {
        format: matrix.format,
        rows: matrix.rows,
        from: plan.offset,
        vocabulary: config.vocabSize,
        cols: matrix.cols,
        xStride: modelSizes(config).xStride,
        scale: config.embeddingScale,
        rowsAt: layout.rowsAt,
      };
      const kernel = await compiler.compile(embedKernel(spec, gpu.abilities));
      const bound = { x: buffers.x[0], step: buffers.step, tokens: sampler.tokens };
      return bindEmbed(gpu.device, kernel, spec, matrix, bound, 1);
    }),
  );
}
