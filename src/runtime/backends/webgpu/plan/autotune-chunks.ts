import type { DeviceMatrix } from '../kernels/formats/formats.ts';
import {
  bindMatmul,
  canMatmul,
  matmulKernel,
  type MatmulArithmetic,
  type MatmulSpec,
  type MatmulTile,
} from '../kernels/matmul/matmul.ts';
import type { TuneParts } from './autotune.ts';
import type { MatmulChoice } from './plan-parts.ts';
import { isPower, tune, tuningKey } from './tuning.ts';

/**
 * Arithmetic of prefill chunks. `exact`: f32, so that a prompt gives the same tokens however it is cut into chunks, and whether its beginning
 * was computed or came from a cache. `fast`: also f16 and INT8 activations, whichever is fastest here; tokens that are nearly as likely as
 * another may then change with the chunks.
 */
export type PrefillPrecision = 'exact' | 'fast';

const DEFAULT_TILE: MatmulTile = { tileRows: 32, arithmetic: 'f32' };
const TILE_ROWS = [32, 64, 128] as const;
const ARITHMETIC: Readonly<Record<PrefillPrecision, readonly MatmulArithmetic[]>> = {
  exact: ['f32'],
  fast: ['f32', 'f16', 'dot8'],
};

/**
 * Chooses arithmetic and tile rows of a chunk's matrices by running them on this device, for each shape in the model; kept per adapter and
 * version in the store.
 * @param rows of a full chunk
 */
export async function tuneChunks(parts: TuneParts, precision: PrefillPrecision, rows: number): Promise<MatmulChoice> {
  const { gpu, compiler, buffers, store, version } = parts;
  const { maxComputeWorkgroupStorageSize } = gpu.device.limits;
  const can = (tile: MatmulTile, format: DeviceMatrix['format']): boolean =>
    canMatmul(tile, format, gpu.abilities, maxComputeWorkgroupStorageSize);
  const candidates = ARITHMETIC[precision].flatMap((arithmetic) =>
    TILE_ROWS.filter((tileRows) => tileRows <= rows).map((tileRows): MatmulTile => ({ tileRows, arithmetic })),
  );
  const tuned = await tune<ChunkShape, MatmulTile>(
    gpu,
    shapesOf(parts),
    {
      keyOf: shapeKey,
      check: isTile,
      candidates: ({ matrix }) => candidates.filter((tile) => can(tile, matrix.format)),
      bind: async ({ matrix, ...shape }, tile) => {
        const { format, rows: outputs, cols } = matrix;
        const spec: MatmulSpec = { format, rows: outputs, cols, ...shape, tile };
        const kernel = await compiler.compile(matmulKernel(spec, gpu.abilities));
        const x = [buffers.normed, buffers.mixed, buffers.inner].find(({ size }) => size >= rows * spec.xStride * 4)!;
        // The step says 0 rows as yet: all is computed, and nothing stored.
        const y = x === buffers.inner ? buffers.normed : buffers.inner;
        return [bindMatmul(gpu.device, kernel, spec, matrix, { x, y, step: buffers.step }, rows)];
      },
    },
    { store, key: tuningKey(gpu, version, `chunks ${precision}`), budgetMs: parts.budgetMs },
  );
  return ({ format, rows: outputs, cols, gated }) => {
    const tile = tuned.get(keyOf(format, outputs, cols, gated !== undefined));
    return tile && can(tile, format) && ARITHMETIC[precision].includes(tile.arithmetic) ? tile : DEFAULT_TILE;
  };
}

interface ChunkShape {
  matrix: DeviceMatrix;
  xStride: number;
  yStride: number;
  gated?: 'silu';
}

const keyOf = (format: string, rows: number, cols: number, gated: boolean): string =>
  `${format} ${rows}x${cols}${gated ? ' gated' : ''}`;

const shapeKey = ({ matrix, gated }: ChunkShape): string =>
  keyOf(matrix.format, matrix.rows, matrix.cols, gated !== undefined);

/** Distinct shapes, those with the most work first: there may be no time for all. */
function shapesOf({ weights, matrices }: TuneParts): ChunkShape[] {
  const shapes = new Map<string, ChunkShape>();
  for (const plan of weights.blocks.flatMap((block) => block.matrices)) {
    if (plan.picked) continue;
    const align = (n: number): number => Math.ceil(n / 32) * 32;
    const strides = { xStride: align(plan.cols), yStride: align(plan.gated ? plan.rows / 2 : plan.rows) };
    const shape = { matrix: matrices.get(plan)!, ...strides, ...(plan.gated && { gated: 'silu' as const }) };
    if (!shapes.has(shapeKey(shape))) shapes.set(shapeKey(shape), shape);
  }
  return [...shapes.values()].sort((a, b) => b.matrix.rows * b.matrix.cols - a.matrix.rows * a.matrix.cols);
}

function isTile(value: unknown): value is MatmulTile {
  const { tileRows, arithmetic } = (value ?? {}) as Partial<MatmulTile>;
  return isPower(tileRows, 128) && tileRows >= 16 && ARITHMETIC.fast.includes(arithmetic!);
}
