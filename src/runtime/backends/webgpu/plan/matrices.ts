import { bindLinear, linearKernel, type LinearBuffers, type LinearSpec } from '../kernels/linear/linear.ts';
import { bindMatmul, matmulKernel, type MatmulSpec } from '../kernels/matmul/matmul.ts';
import type { Dispatch } from '../kernels/pipeline.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { Recorder } from './gpu-block.ts';
import type { PlanParts } from './plan-parts.ts';
import { readerSpec, type BranchEnd, type FusedInput } from './residual.ts';

export type LinearOptions = Omit<LinearSpec, 'format' | 'rows' | 'cols' | 'm' | 'tile'>;
export type MatmulOptions = Omit<MatmulSpec, 'format' | 'rows' | 'cols' | 'tile'>;

/** What the first matrices of a block give, and what becomes of it. */
export interface Projection {
  y: GPUBuffer;
  yStride: number;
  bias?: GPUBuffer | undefined;
  gated?: 'silu' | 'gelu';
  /** Results go through an activation and are multiplied with these values. */
  factor?: { buffer: GPUBuffer; stride: number; from: number; activation: 'silu' | 'gelu' };
}

/** Compiles and binds a matrix for up to `m` rows. */
export async function linear(
  { gpu, compiler, matrices, tile }: PlanParts,
  m: number,
  plan: MatrixPlan,
  options: LinearOptions,
  buffers: LinearBuffers,
): Promise<Dispatch> {
  const matrix = matrices.get(plan)!;
  const shape = { format: matrix.format, rows: matrix.rows, cols: matrix.cols, m, ...options };
  const spec: LinearSpec = { ...shape, tile: tile(shape) };
  const kernel = await compiler.compile(linearKernel(spec, gpu.abilities));
  return bindLinear(gpu.device, kernel, spec, matrix, buffers);
}

/** Records linear kernels for the rows of a step, `m` at a time. */
export function recordLinears(dispatches: readonly Dispatch[], m: number): Recorder {
  return (run, { rows }) => {
    for (const dispatch of dispatches) run(dispatch, dispatch.x, Math.ceil(rows / m));
  };
}

const factorSpec = ({ stride, from, activation }: NonNullable<Projection['factor']>) => ({ stride, from, activation });

/** The matrices that a block begins with, reading the residual. */
export async function fusedProjection(
  parts: PlanParts,
  m: number,
  plans: readonly MatrixPlan[],
  input: FusedInput,
  { y, yStride, bias, gated, factor }: Projection,
): Promise<Recorder> {
  const norm = { width: parts.config.hiddenSize, epsilon: parts.config.normEps };
  const { x, gain, pending } = input;
  const dispatches = await Promise.all(
    plans.map((plan, part) => {
      const options: LinearOptions = {
        xStride: parts.sizes.xStride,
        yStride,
        yOffset: plan.offset,
        ...(bias && { bias: true }),
        ...(gated && { gated }),
        ...(factor && { factor: factorSpec(factor) }),
        ...readerSpec(input, norm, part === 0),
      };
      return linear(parts, m, plan, options, {
        x,
        y,
        ...(gain && { gain }),
        ...(bias && { bias }),
        factor: factor?.buffer,
        ...(pending && { t: pending.t, postGain: pending.gain, ...(part === 0 && { xOut: pending.xOut }) }),
      });
    }),
  );
  return recordLinears(dispatches, m);
}

/** The matrix that a block ends with. */
export async function fusedEnd(
  parts: PlanParts,
  m: number,
  plan: MatrixPlan,
  x: { buffer: GPUBuffer; stride: number },
  { y, residual, scale }: BranchEnd,
  bias?: GPUBuffer,
): Promise<Recorder> {
  const options = { xStride: x.stride, yStride: parts.sizes.xStride, residual, scale, ...(bias && { bias: true }) };
  return recordLinears([await linear(parts, m, plan, options, { x: x.buffer, y, ...(bias && { bias }) })], m);
}

/** A matrix of a chunk. */
async function matmul(
  { gpu, compiler, matrices, matmulTile, buffers }: PlanParts,
  plan: MatrixPlan,
  options: MatmulOptions,
  bound: { x: GPUBuffer; y: GPUBuffer; bias?: GPUBuffer | undefined; factor?: GPUBuffer | undefined },
): Promise<Recorder> {
  const matrix = matrices.get(plan)!;
  const { format, rows, cols } = matrix;
  const shape = { format, rows, cols, ...options };
  const spec: MatmulSpec = { ...shape, tile: matmulTile!(shape) };
  const kernel = await compiler.compile(matmulKernel(spec, gpu.abilities));
  const { x, y, bias, factor } = bound;
  const dispatch = bindMatmul(
    gpu.device,
    kernel,
    spec,
    matrix,
    { x, y, step: buffers.step, ...(bias && { bias }), factor },
    1,
  );
  return (run, step) => run(dispatch, dispatch.x, Math.ceil(step.rows / spec.tile.tileRows));
}

/** {@link fusedProjection} of a chunk, whose residual is normed already. */
export async function chunkProjection(
  parts: PlanParts,
  plans: readonly MatrixPlan[],
  { y, yStride, bias, gated, factor }: Projection,
): Promise<Recorder> {
  const recorders = await Promise.all(
    plans.map((plan) =>
      matmul(
        parts,
        plan,
        {
          xStride: parts.sizes.xStride,
          yStride,
          yOffset: plan.offset,
          ...(bias && { bias: true }),
          ...(gated && { gated }),
          ...(factor && { factor: factorSpec(factor) }),
        },
        { x: parts.buffers.normed, y, bias, factor: factor?.buffer },
      ),
    ),
  );
  return inOrder(recorders);
}

/** {@link fusedEnd} of a chunk. */
export function chunkEnd(
  parts: PlanParts,
  plan: MatrixPlan,
  x: { buffer: GPUBuffer; stride: number },
  { y, residual, scale }: BranchEnd,
  bias?: GPUBuffer,
): Promise<Recorder> {
  const options = { xStride: x.stride, yStride: parts.sizes.xStride, residual, scale, ...(bias && { bias: true }) };
  return matmul(parts, plan, options, { x: x.buffer, y, bias });
}

/** The same promise for each call: fused steps of every row count and chunks share what does not depend on it. */
export function onceEach<Argument, Result>(
  make: (argument: Argument) => Promise<Result>,
): (argument: Argument) => Promise<Result> {
  let made: Promise<Result> | undefined;
  return (argument) => (made ??= make(argument));
}

/** One recorder after the other. */
export function inOrder(recorders: readonly Recorder[]): Recorder {
  return (run, shape) => {
    for (const record of recorders) record(run, shape);
  };
}
