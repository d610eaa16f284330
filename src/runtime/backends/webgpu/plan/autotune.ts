import type { GpuContext } from '../device.ts';
import type { DeviceMatrix } from '../kernels/formats/formats.ts';
import {
  bindLinear,
  defaultLinearTile,
  linearKernel,
  type LinearSpec,
  type LinearTile,
} from '../kernels/linear/linear.ts';
import { record, type Dispatch, type KernelCompiler } from '../kernels/pipeline.ts';
import type { MatrixPlan, WeightPlan } from '../weights/weight-plan.ts';
import type { PlanBuffers } from './buffers.ts';
import type { TileChoice } from './fused-steps.ts';
import type { ModelSizes } from './model-sizes.ts';

/** Where what was measured is kept; `get` and `set` of idb-keyval do. */
export interface TuningStore {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
}

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
/** Time after which what is not yet tried stays untried, ms. */
const BUDGET_MS = 1500;
const ROUNDS = 2;
/** Dispatches of a measurement, over the matrices of different layers so that caches do not serve them. */
const DISPATCHES = 24;

export interface TuneParts {
  gpu: GpuContext;
  compiler: KernelCompiler;
  weights: WeightPlan;
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>;
  buffers: PlanBuffers;
  sizes: ModelSizes;
  store?: TuningStore | undefined;
  version: string;
}

type Tuned = Record<string, LinearTile>;

/**
 * Chooses tiles of the one-row kernels by running them on this device, for each shape of matrix in the model; kept per adapter and version
 * in the store. Software adapters and rows above one take the default.
 */
export async function tuneTiles(parts: TuneParts): Promise<TileChoice> {
  const { gpu, store, version } = parts;
  const { vendor, architecture, description } = gpu.adapter;
  const fallback: TileChoice = ({ format, rows, cols, m }) => defaultLinearTile(format, rows, cols, m, gpu.abilities);
  if (!gpu.abilities.unroll) return fallback;
  const key = `tokenglass-tuning/${version}/${[vendor, architecture, description].join('/')}`;
  // A store that fails costs a measurement, never the model.
  const known = asTuned(await store?.get(key).catch(() => undefined));
  const fresh = await measureShapes(parts, known, fallback);
  const tuned = { ...known, ...fresh };
  if (Object.keys(fresh).length > 0) await store?.set(key, tuned).catch(() => undefined);
  return (spec) => (spec.m === 1 ? tuned[shapeKey(spec)] : undefined) ?? fallback(spec);
}

type Shape = Pick<LinearSpec, 'format' | 'rows' | 'cols' | 'gated'>;

const shapeKey = ({ format, rows, cols, gated }: Shape): string =>
  `${format} ${rows}x${cols}${gated === undefined ? '' : ' gated'}`;

async function measureShapes(parts: TuneParts, known: Tuned, fallback: TileChoice): Promise<Tuned> {
  const deadline = performance.now() + BUDGET_MS;
  const tuned: Tuned = {};
  for (const { spec, matrices } of shapesOf(parts)) {
    if (known[shapeKey(spec)] || performance.now() > deadline) continue;
    const tiles = [fallback(spec), ...CANDIDATES];
    const timed = await Promise.all(
      tiles.map(async (tile) => ({ tile, dispatches: await bindAll(parts, { ...spec, tile }, matrices) })),
    );
    let best: { tile: LinearTile; ms: number } | undefined;
    for (const { tile, dispatches } of timed) {
      const ms = await fastest(parts.gpu.device, dispatches);
      if (!best || ms < best.ms) best = { tile, ms };
      if (performance.now() > deadline) break;
    }
    if (best) tuned[shapeKey(spec)] = best.tile;
  }
  return tuned;
}

interface TunedShape {
  spec: Omit<LinearSpec, 'tile'>;
  matrices: DeviceMatrix[];
}

/** Distinct shapes, each with the matrices of all layers that have it. */
function shapesOf({ weights, matrices, sizes }: TuneParts): TunedShape[] {
  const shapes = new Map<string, TunedShape>();
  const add = (plan: MatrixPlan, xStride: number, yStride: number, gated?: 'silu') => {
    const matrix = matrices.get(plan)!;
    const { format, rows, cols } = matrix;
    const spec = { format, rows, cols, m: 1, xStride, yStride, ...(gated && { gated }) };
    const shape: TunedShape = shapes.get(shapeKey(spec)) ?? { spec, matrices: [] };
    shape.matrices.push(matrix);
    shapes.set(shapeKey(spec), shape);
  };
  for (const layer of weights.layers) {
    for (const qkv of layer.qkv) add(qkv, sizes.xStride, sizes.qkvStride);
    add(layer.attnOutput, sizes.attnStride, sizes.xStride);
    add(layer.gateUp, sizes.xStride, sizes.ffnStride, 'silu');
    add(layer.down, sizes.ffnStride, sizes.xStride);
  }
  for (const output of weights.output) add(output, sizes.xStride, sizes.logitsStride);
  return [...shapes.values()];
}

async function bindAll(
  { gpu, compiler, buffers, sizes }: TuneParts,
  spec: LinearSpec,
  matrices: readonly DeviceMatrix[],
): Promise<Dispatch[]> {
  const kernel = await compiler.compile(linearKernel(spec, gpu.abilities));
  // No sequence has run yet: activations are zeros, and every step writes them before it reads them.
  const y = spec.yStride === sizes.logitsStride ? buffers.logits : buffers.ffn;
  return matrices
    .slice(0, DISPATCHES)
    .map((matrix) => bindLinear(gpu.device, kernel, spec, matrix, { x: buffers.normed, y }));
}

/** Milliseconds of a round of dispatches, the best of a few. */
async function fastest(device: GPUDevice, dispatches: readonly Dispatch[]): Promise<number> {
  let best = Infinity;
  for (let round = 0; round <= ROUNDS; round++) {
    const encoder = device.createCommandEncoder({ label: 'tune' });
    const pass = encoder.beginComputePass({ label: 'tune' });
    for (let i = 0; i < DISPATCHES; i++) record(pass, dispatches[i % dispatches.length]!);
    pass.end();
    const commands = encoder.finish();
    const startMs = performance.now();
    device.queue.submit([commands]);
    await device.queue.onSubmittedWorkDone();
    // The first round warms up.
    if (round > 0) best = Math.min(best, performance.now() - startMs);
  }
  return best;
}

/** What a store gave, as far as it is something that a kernel can be made of. */
function asTuned(value: unknown): Tuned {
  const tuned: Tuned = {};
  if (typeof value !== 'object' || value === null) return tuned;
  for (const [key, tile] of Object.entries(value as Record<string, unknown>)) {
    const { lanes, rowLanes, rows } = (tile ?? {}) as Partial<LinearTile>;
    if (isPower(lanes, 64) && isPower(rowLanes, 64) && isPower(rows, 8) && lanes * rowLanes <= 256 && rows > 1) {
      tuned[key] = { lanes, rowLanes, rows };
    }
  }
  return tuned;
}

function isPower(value: unknown, most: number): value is number {
  return typeof value === 'number' && value >= 1 && value <= most && Number.isInteger(Math.log2(value));
}
