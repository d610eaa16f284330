import type { GpuAbilities } from '../../device.ts';
import { epilogueValues, type EpilogueSpec } from '../epilogue/epilogue.ts';
import epilogue from '../epilogue/epilogue.wgsl?raw';
import { unitsPerRow, type WeightFormat } from '../../../weights/unit-formats.ts';
import { FORMATS, type DeviceMatrix } from '../formats/formats.ts';
import { bindKernel, type Dispatch, type Kernel, type KernelSource } from '../pipeline.ts';
import { abilityValues, composeShader } from '../template.ts';
import dot8Code from './matmul-dot8.wgsl?raw';
import code from './matmul.wgsl?raw';

/**
 * How products are computed: in `f32`; in `f16` (needs shader-f16), with f32 sums; or as packed dot products of INT8 (`dot8`, needs
 * packed_4x8_integer_dot_product and an integer format), x rounded to INT8 in groups of 16.
 */
export type MatmulArithmetic = 'f32' | 'f16' | 'dot8';

/** How a chunk's matrix is computed. */
export interface MatmulTile {
  /** Rows of x that a workgroup takes: a multiple of 16. */
  tileRows: number;
  arithmetic: MatmulArithmetic;
}

export interface MatmulSpec extends EpilogueSpec {
  format: WeightFormat;
  cols: number;
  /** f32 between two rows of x; a multiple of 4. */
  xStride: number;
  tile: MatmulTile;
}

export interface MatmulBuffers {
  /** Readable up to whole tiles of rows. */
  x: GPUBuffer;
  y: GPUBuffer;
  bias?: GPUBuffer;
  step: GPUBuffer;
  factor?: GPUBuffer | undefined;
}

/** Matrix times many rows, weights unpacked once for a tile of rows. */
export function matmulKernel(spec: MatmulSpec, abilities: GpuAbilities): KernelSource {
  const traits = FORMATS[spec.format];
  const { tileRows, arithmetic } = spec.tile;
  const shader = composeShader(
    {
      ...abilityValues(abilities),
      SUBGROUPS: false,
      HALF: arithmetic === 'f16',
      ...traits.values,
      ...epilogueValues(spec, true),
      UNITS: unitsPerRow(spec.format, spec.cols),
      K_VECTORS: Math.ceil(spec.cols / 4),
      X_STRIDE: spec.xStride,
      TM: tileRows,
      ROWS_X: tileRows / 16,
    },
    ...traits.files,
    epilogue,
    arithmetic === 'dot8' ? dot8Code : code,
  );
  return {
    label: `matmul ${arithmetic} ${spec.format} ${spec.rows}x${spec.cols}`,
    code: shader,
    bindings: {
      0: 'read',
      1: 'read',
      ...(traits.scaleBytes > 0 && { 2: 'read' as const }),
      3: 'write',
      ...(spec.bias && { 5: 'read' as const }),
      ...(spec.factor && { 10: 'read' as const }),
      9: 'read',
    },
  };
}

/** Workgroups in y are for `tokenRows` rows. */
export function bindMatmul(
  device: GPUDevice,
  kernel: Kernel,
  spec: MatmulSpec,
  matrix: DeviceMatrix,
  buffers: MatmulBuffers,
  tokenRows: number,
): Dispatch {
  return bindKernel(
    device,
    kernel,
    {
      0: buffers.x,
      1: matrix.units,
      ...(matrix.scales && { 2: matrix.scales }),
      3: buffers.y,
      ...(buffers.bias && { 5: buffers.bias }),
      9: buffers.step,
      ...(buffers.factor && { 10: buffers.factor }),
    },
    [Math.ceil(spec.rows / 64), Math.ceil(tokenRows / spec.tile.tileRows)],
  );
}

/** True if the device can compute a matrix of this format so. @param storageBytes workgroup memory that there is */
export function canMatmul(
  { tileRows, arithmetic }: MatmulTile,
  format: WeightFormat,
  abilities: Pick<GpuAbilities, 'shaderF16' | 'packed4x8'>,
  storageBytes: number,
): boolean {
  // Tiles of x and of 64 rows of W, 32 wide: f32, f16, or INT8 with two scales of 8 bytes a row.
  const bytesPerRow = { f32: 128, f16: 64, dot8: 48 }[arithmetic];
  if ((tileRows + 64) * bytesPerRow > storageBytes) return false;
  if (arithmetic === 'f16') return abilities.shaderF16;
  return arithmetic === 'f32' || (abilities.packed4x8 && FORMATS[format].scaleBytes > 0);
}
