import { bindEmbed, embedKernel, type EmbedSpec } from '../kernels/embed/embed.ts';
import { bindNorm, normKernel } from '../kernels/norm/norm.ts';
import { record, type Dispatch } from '../kernels/pipeline.ts';
import type { SampleKernels } from '../kernels/sample/sample-kernels.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { WeightPlan } from '../weights/weight-plan.ts';
import type { BoundBlock, Recorder, Run, StepShape } from './gpu-block.ts';
import { linear } from './matrices.ts';
import type { PlanParts } from './plan-parts.ts';
import { createLayerInputs } from './layer-inputs.ts';
import { readerSpec, Residual, type FusedInput, type Pending } from './residual.ts';

export interface ModelPlanOptions {
  /** Row counts that fused steps are made for, ascending; the last is the most. */
  fusedRows: readonly number[];
  weights: Pick<WeightPlan, 'embedding' | 'output' | 'layerProjection'>;
  /** Blocks of all layers, in their order, and the scale of each branch. */
  blocks: readonly BoundBlock[];
  scales: readonly number[];
  sampler: SampleKernels;
}

/** All blocks of steps of up to `m` rows, and where they leave x. */
interface FusedSteps {
  m: number;
  blocks: Recorder;
  output: Output;
}

/** The output projection, for row counts up to each `m`. */
type Output = readonly { m: number; dispatches: readonly Dispatch[] }[];

/** Everything that a step dispatches, made once. Recording a step makes nothing on the device. */
export class ModelPlan {
  readonly #embed: readonly Dispatch[];
  readonly #fused: readonly FusedSteps[];
  /** Absent where chunks are computed by rows. */
  readonly #chunk: { blocks: Recorder; output: Output } | undefined;
  readonly #sampler: SampleKernels;

  private constructor(init: {
    embed: readonly Dispatch[];
    fused: readonly FusedSteps[];
    chunk: { blocks: Recorder; output: Output } | undefined;
    sampler: SampleKernels;
  }) {
    this.#embed = init.embed;
    this.#fused = init.fused;
    this.#chunk = init.chunk;
    this.#sampler = init.sampler;
  }

  /** Compiles all kernels, in parallel, and binds all buffers. */
  static async create(parts: PlanParts, options: ModelPlanOptions): Promise<ModelPlan> {
    const [embed, fused, chunk] = await Promise.all([
      createEmbed(parts, options),
      Promise.all(options.fusedRows.map((m) => createFused(parts, m, options))),
      parts.matmulTile ? createChunk(parts, options) : undefined,
    ]);
    return new ModelPlan({ embed, fused, chunk, sampler: options.sampler });
  }

  /** Records a step; the step buffer is written before the pass is submitted. @returns dispatches recorded */
  record(pass: GPUComputePassEncoder, shape: StepShape): number {
    let count = 0;
    const run: Run = (dispatch, x, y, z) => {
      record(pass, dispatch, x, y, z);
      count += 1;
    };
    for (const embed of this.#embed) run(embed, embed.x, shape.rows);
    const fused = this.#fused.find(({ m }) => m >= shape.rows);
    const { blocks, output } = fused ?? this.#chunk ?? this.#fused.at(-1)!;
    blocks(run, shape);
    if (shape.samples > 0) {
      const { m, dispatches } = output.find((rows) => rows.m >= shape.samples) ?? output.at(-1)!;
      const groups = Math.ceil(shape.samples / m);
      for (const dispatch of dispatches) run(dispatch, dispatch.x, groups);
      this.#sampler.encode(pass, shape.samples, shape.variant);
      count += 2;
    }
    return count;
  }
}

async function createFused(parts: PlanParts, m: number, options: ModelPlanOptions): Promise<FusedSteps> {
  const residual = new Residual(parts.buffers);
  const making = options.blocks.map((block, index) => {
    const input = residual.read(block.norm);
    const end = residual.end({ ...block, scale: options.scales[index]! });
    return block.fused(parts, m, input, end);
  });
  const [output, ...blocks] = await Promise.all([
    createOutput(parts, options, residual),
    ...beforeLayers(parts, m, options),
    ...making,
  ]);
  return { m, output, blocks: (run, shape) => blocks.forEach((recordBlock) => recordBlock(run, shape)) };
}

/** What all layers read besides the residual. */
function beforeLayers(parts: PlanParts, m: number, { weights }: ModelPlanOptions): Promise<Recorder>[] {
  return weights.layerProjection ? [createLayerInputs(parts, m, weights.layerProjection)] : [];
}

async function createChunk(parts: PlanParts, options: ModelPlanOptions): Promise<{ blocks: Recorder; output: Output }> {
  const residual = new Residual(parts.buffers);
  const making = options.blocks.flatMap((block, index) => {
    const norm = createNorm(parts, block.norm, residual.pending);
    residual.settle();
    const end = residual.end({ ...block, scale: options.scales[index]! });
    return [norm, block.chunk(parts, end)];
  });
  const [output, ...blocks] = await Promise.all([
    createOutput(parts, options, residual),
    ...beforeLayers(parts, options.fusedRows.at(-1)!, options),
    ...making,
  ]);
  return { output, blocks: (run, shape) => blocks.forEach((recordBlock) => recordBlock(run, shape)) };
}

/** What comes before a block of a chunk: what the block before gave is added, and the residual normed. */
async function createNorm(
  { gpu, compiler, config, sizes, buffers }: PlanParts,
  gain: GPUBuffer | undefined,
  pending: Pending | undefined,
): Promise<Recorder> {
  const spec = {
    width: config.hiddenSize,
    epsilon: config.normEps,
    stride: sizes.xStride,
    norm: gain !== undefined,
    postNorm: pending !== undefined,
    ...(pending?.scaled && { postScaled: true }),
  };
  const kernel = await compiler.compile(normKernel(spec));
  const bound = {
    x: buffers.x[0],
    out: buffers.normed,
    ...(gain && { gain }),
    ...(pending && { t: buffers.t, postGain: pending.gain }),
  };
  const dispatch = bindNorm(gpu.device, kernel, bound, 1);
  return (run, { rows }) => run(dispatch, rows);
}

/** The output projection of rows picked from x, wherever the blocks have left it. */
function createOutput(parts: PlanParts, { fusedRows, weights }: ModelPlanOptions, residual: Residual): Promise<Output> {
  const input = residual.read(parts.buffers.outputNorm);
  return Promise.all(
    fusedRows.map(async (m) => ({
      m,
      dispatches: await Promise.all(weights.output.map((plan) => outputPart(parts, m, plan, input))),
    })),
  );
}

function outputPart(parts: PlanParts, m: number, plan: MatrixPlan, input: FusedInput): Promise<Dispatch> {
  const { config, sizes, buffers, layout } = parts;
  const { x, gain, pending } = input;
  const norm = { width: config.hiddenSize, epsilon: config.normEps };
  return linear(
    parts,
    m,
    plan,
    {
      xStride: sizes.xStride,
      yStride: sizes.logitsStride,
      yOffset: plan.offset,
      // Several workgroups pick the same row, and nobody reads x after this: the sum is not stored.
      ...readerSpec(input, norm, false),
      gatherAt: layout.gatherAt,
      scale: config.logitScale,
      softcap: config.logitCap,
    },
    {
      x,
      y: buffers.logits,
      step: buffers.step,
      ...(gain && { gain }),
      ...(pending && { t: pending.t, postGain: pending.gain }),
    },
  );
}

async function createEmbed(parts: PlanParts, { weights, sampler }: ModelPlanOptions): Promise<Dispatch[]> {
  const { gpu, compiler, config, sizes, contextTokens, matrices, buffers, layout } = parts;
  return Promise.all(
    weights.embedding.map(async (plan) => {
      const matrix = matrices.get(plan)!;
      const spec: EmbedSpec = {
        format: matrix.format,
        rows: matrix.rows,
        from: plan.offset,
        vocabulary: config.vocabSize,
        cols: matrix.cols,
        xStride: sizes.xStride,
        scale: config.embeddingScale,
        rowsAt: layout.rowsAt,
        ...(buffers.history && { history: contextTokens }),
      };
      const kernel = await compiler.compile(embedKernel(spec, gpu.abilities));
      const bound = {
        x: buffers.x[0],
        step: buffers.step,
        tokens: sampler.tokens,
        ...(buffers.history && { history: buffers.history }),
      };
      return bindEmbed(gpu.device, kernel, spec, matrix, bound, 1);
    }),
  );
}
