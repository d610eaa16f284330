import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import type { GpuContext } from '../device.ts';
import type { DeviceMatrix } from '../kernels/formats/formats.ts';
import {
  bindLinear,
  linearKernel,
  type LinearBuffers,
  type LinearSpec,
  type LinearTile,
} from '../kernels/linear/linear.ts';
import type { MatmulSpec, MatmulTile } from '../kernels/matmul/matmul.ts';
import type { Dispatch, KernelCompiler } from '../kernels/pipeline.ts';
import type { StepLayout } from '../step-layout.ts';
import type { MatrixPlan, WeightPlan } from '../weights/weight-plan.ts';
import type { PlanBuffers } from './buffers.ts';
import { modelSizes } from './model-sizes.ts';

/** Chooses the tile of a linear kernel. */
export type TileChoice = (spec: Omit<LinearSpec, 'tile'>) => LinearTile;

/** Chooses how a matrix of a chunk is computed. */
export type MatmulChoice = (spec: Omit<MatmulSpec, 'tile'>) => MatmulTile;

export interface FusedLayer {
  qkv: readonly Dispatch[];
  attnOutput: Dispatch;
  gateUp: Dispatch;
  down: Dispatch;
}

/** Matrix dispatches of a step of up to `m` rows: norms, biases, activation and residuals are fused in. */
export interface FusedSteps {
  m: number;
  layers: readonly FusedLayer[];
}

export interface PlanParts {
  gpu: GpuContext;
  compiler: KernelCompiler;
  config: ModelConfig;
  weights: WeightPlan;
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>;
  buffers: PlanBuffers;
  layout: StepLayout;
  tile: TileChoice;
  /** Absent where chunks are computed by rows. */
  matmulTile?: MatmulChoice;
}

/** Compiles and binds the matrix dispatches for `m` rows. */
export async function createFusedSteps(parts: PlanParts, m: number): Promise<FusedSteps> {
  const { config, weights, buffers } = parts;
  const sizes = modelSizes(config);
  const norm = { width: config.hiddenSize, epsilon: config.normEps };
  const post = config.postNorms;
  const activation = config.activation === 'silu' ? 'silu' : 'gelu';
  const layers = await Promise.all(
    weights.layers.map(async (layer, index): Promise<FusedLayer> => {
      const vectors = buffers.layers[index]!;
      const before = buffers.layers[index - 1];
      // Gemma: x alternates between two buffers, as every workgroup reads all of x while one writes its sum with t.
      // Layer 0 takes x as embedded (buffer 0); each norm after that moves it to the other buffer.
      const qkvIn = index === 0 ? 0 : 1;
      const ffnIn = 0;
      const fromX = (from: 0 | 1, gain: GPUBuffer, postGain: GPUBuffer | undefined): Partial<LinearBuffers> => ({
        x: buffers.x[post ? from : 0],
        gain,
        ...(post && postGain && { t: buffers.t, postGain, xOut: buffers.x[from === 0 ? 1 : 0] }),
      });
      const qkv = layer.qkv.map((matrix, part) =>
        linear(
          parts,
          m,
          matrix,
          {
            xStride: sizes.xStride,
            yStride: sizes.qkvStride,
            yOffset: matrix.offset,
            norm,
            bias: vectors.qkvBias !== undefined,
            postNorm: post && index > 0,
            xOut: post && index > 0 && part === 0,
          },
          {
            ...fromX(qkvIn, vectors.attnNorm, before?.postFfnNorm),
            y: buffers.qkv,
            ...(vectors.qkvBias && { bias: vectors.qkvBias }),
          },
        ),
      );
      const branchOut = post ? buffers.t : buffers.x[0];
      const [attnOutput, gateUp, down, ...qkvDone] = await Promise.all([
        linear(
          parts,
          m,
          layer.attnOutput,
          { xStride: sizes.attnStride, yStride: sizes.xStride, residual: !post },
          { x: buffers.attention, y: branchOut },
        ),
        linear(
          parts,
          m,
          layer.gateUp,
          { xStride: sizes.xStride, yStride: sizes.ffnStride, norm, gated: activation, postNorm: post, xOut: post },
          { ...fromX(ffnIn, vectors.ffnNorm, vectors.postAttnNorm), y: buffers.ffn },
        ),
        linear(
          parts,
          m,
          layer.down,
          { xStride: sizes.ffnStride, yStride: sizes.xStride, residual: !post },
          { x: buffers.ffn, y: branchOut },
        ),
        ...qkv,
      ]);
      return { qkv: qkvDone, attnOutput, gateUp, down };
    }),
  );
  return { m, layers };
}

/**
 * Compiles and binds the output projection for up to `m` rows picked from x.
 * @param afterFused x is where fused steps leave it (Gemma: the other buffer)
 */
export async function createOutputSteps(parts: PlanParts, m: number, afterFused: boolean): Promise<Dispatch[]> {
  const { config, weights, buffers, layout } = parts;
  const sizes = modelSizes(config);
  const post = config.postNorms;
  return Promise.all(
    weights.output.map((matrix) =>
      linear(
        parts,
        m,
        matrix,
        {
          xStride: sizes.xStride,
          yStride: sizes.logitsStride,
          yOffset: matrix.offset,
          norm: { width: config.hiddenSize, epsilon: config.normEps },
          postNorm: post,
          gatherAt: layout.gatherAt,
        },
        {
          x: buffers.x[post && afterFused ? 1 : 0],
          y: buffers.logits,
          gain: buffers.outputNorm,
          step: buffers.step,
          ...(post && { t: buffers.t, postGain: buffers.layers.at(-1)!.postFfnNorm! }),
        },
      ),
    ),
  );
}

type LinearOptions = Omit<LinearSpec, 'format' | 'rows' | 'cols' | 'm' | 'tile'>;

async function linear(
  { gpu, compiler, matrices, tile }: PlanParts,
  m: number,
  plan: MatrixPlan,
  options: LinearOptions,
  buffers: Partial<LinearBuffers>,
): Promise<Dispatch> {
  const matrix = matrices.get(plan)!;
  const shape = { format: matrix.format, rows: matrix.rows, cols: matrix.cols, m, ...options };
  const spec: LinearSpec = { ...shape, tile: tile(shape) };
  const kernel = await compiler.compile(linearKernel(spec, gpu.abilities));
  const { x, y, gain, bias, t, postGain, xOut, step } = buffers;
  return bindLinear(gpu.device, kernel, spec, matrix, {
    x: x!,
    y: y!,
    ...(spec.norm && gain && { gain }),
    ...(spec.bias && bias && { bias }),
    ...(spec.postNorm && t && postGain && { t, postGain }),
    ...(spec.xOut && xOut && { xOut }),
    ...(spec.gatherAt !== undefined && step && { step }),
  });
}
