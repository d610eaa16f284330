import type { GpuContext } from '../device.ts';
import type { DeviceMatrix } from '../kernels/formats/formats.ts';
import {
  bindLinear,
  defaultLinearTile,
  linearKernel,
  type LinearSpec,
  type LinearTile,
} from '../kernels/linear/linear.ts';
import type { KernelCompiler } from '../kernels/pipeline.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { WeightPlan } from '../weights/weight-plan.ts';
import type { PlanBuffers } from './buffers.ts';
import type { TileChoice } from './plan-parts.ts';
import { isPower, tune, tuningKey, type TuningStore } from './tuning.ts';

/** Tiles tried for one row, besides the default one. */
const CANDIDATES: readonly LinearTile[] = [
  { lanes: 8, rowLanes: 8, rows: 2 },
  { lanes: 8, rowLanes: 8, rows: 4 },
  { lanes: 16, rowLanes: 4, rows: 2 },
  { lanes: 16, rowLanes: 4, rows: 4 },
  { lanes: 32, rowLanes: 2, rows: 2 },
  { lanes: 32, rowLanes: 2, rows: 4 },
  { lanes: 32, rowLanes: 4, rows: 2 },
  { lanes: 64, rowLanes: 1, rows: 4 },
];
/** Dispatches of a measurement, over the matrices of different layers so that caches do not serve them. */
const DISPATCHES = 24;

export interface TuneParts {
  gpu: GpuContext;
  compiler: KernelCompiler;
  weights: Pick<WeightPlan, 'blocks' | 'output'>;
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>;
  buffers: PlanBuffers;
  store?: TuningStore | undefined;
  version: string;
  /** @default 1500 */
  budgetMs?: number;
}

/**
 * Chooses tiles of the one-row kernels by running them on this device, for each shape of matrix in the model; kept per adapter and version
 * in the store. Software adapters and rows above one take the default.
 */
export async function tuneTiles(parts: TuneParts): Promise<TileChoice> {
  const { gpu, store, version, buffers } = parts;
  const fallback: TileChoice = ({ format, rows, cols, m }) => defaultLinearTile(format, rows, cols, m, gpu.abilities);
  if (!gpu.abilities.unroll) return fallback;
  const shapes = shapesOf(parts);
  const tuned = await tune<TunedShape, LinearTile>(
    gpu,
    shapes,
    {
      keyOf: ({ spec }) => shapeKey(spec),
      check: isTile,
      candidates: ({ spec }) => [fallback(spec), ...CANDIDATES],
      bind: async ({ spec: shape, matrices }, tile) => {
        const spec = { ...shape, tile };
        const kernel = await parts.compiler.compile(linearKernel(spec, gpu.abilities));
        // No sequence has run yet: activations are zeros, and every step writes them before it reads them.
        const y = [buffers.inner, buffers.projected, buffers.mixed].find(({ size }) => size >= spec.yStride * 4);
        return Array.from({ length: DISPATCHES }, (_, i) =>
          bindLinear(gpu.device, kernel, spec, matrices[i % matrices.length]!, {
            x: widest(buffers, spec.xStride),
            y: y ?? buffers.logits,
          }),
        );
      },
    },
    { store, key: tuningKey(gpu, version, 'one-row'), budgetMs: parts.budgetMs },
  );
  return (spec) => (spec.m === 1 ? tuned.get(shapeKey(spec)) : undefined) ?? fallback(spec);
}

type Shape = Pick<LinearSpec, 'format' | 'rows' | 'cols' | 'gated'>;

const shapeKey = ({ format, rows, cols, gated }: Shape): string =>
  `${format} ${rows}x${cols}${gated === undefined ? '' : ' gated'}`;

interface TunedShape {
  spec: Omit<LinearSpec, 'tile'>;
  matrices: DeviceMatrix[];
}

/** Distinct shapes, each with the matrices of all layers that have it. */
function shapesOf({ weights, matrices }: TuneParts): TunedShape[] {
  const shapes = new Map<string, TunedShape>();
  const whole = weights.blocks.flatMap((block) => block.matrices).filter(({ picked }) => !picked);
  for (const plan of [...whole, ...weights.output]) {
    const matrix = matrices.get(plan)!;
    const { format, rows, cols } = matrix;
    const strides = { xStride: align(cols), yStride: align(plan.gated ? rows / 2 : rows) };
    const spec = { format, rows, cols, m: 1, ...strides, ...(plan.gated && { gated: 'silu' as const }) };
    const shape: TunedShape = shapes.get(shapeKey(spec)) ?? { spec, matrices: [] };
    shape.matrices.push(matrix);
    shapes.set(shapeKey(spec), shape);
  }
  return [...shapes.values()];
}

const align = (n: number): number => Math.ceil(n / 32) * 32;

/** A buffer of activations that has a row of `stride`. */
function widest({ normed, mixed, inner }: PlanBuffers, stride: number): GPUBuffer {
  return [normed, mixed, inner].find(({ size }) => size >= stride * 4) ?? normed;
}

function isTile(value: unknown): value is LinearTile {
  const { lanes, rowLanes, rows } = (value ?? {}) as Partial<LinearTile>;
  return isPower(lanes, 64) && isPower(rowLanes, 64) && isPower(rows, 8) && lanes * rowLanes <= 256 && rows > 1;
}
