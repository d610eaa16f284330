import type { GpuAbilities } from '../../device.ts';
import { FORMATS, unitsPerRow, type DeviceMatrix, type WeightFormat } from '../formats/formats.ts';
import { bindKernel, type Dispatch, type Kernel, type KernelSource } from '../pipeline.ts';
import { abilityValues, composeShader } from '../template.ts';
import code from './matmul.wgsl?raw';

export interface MatmulSpec {
  format: WeightFormat;
  /** Rows of the matrix. With `gated`, gate rows come first and as many up rows after them. */
  rows: number;
  cols: number;
  /** f32 between two rows of x, and of y; multiples of 4. */
  xStride: number;
  yStride: number;
  /** First column of y. @default 0 */
  yOffset?: number;
  bias?: boolean;
  residual?: boolean;
  gated?: 'silu' | 'gelu';
  /** Rows of x that a workgroup takes: a multiple of 16. */
  tileRows: number;
}

export interface MatmulBuffers {
  /** Readable up to whole tiles of rows. */
  x: GPUBuffer;
  y: GPUBuffer;
  bias?: GPUBuffer;
  step: GPUBuffer;
}

/** Matrix times many rows, weights unpacked once for a tile of rows. */
export function matmulKernel(spec: MatmulSpec, abilities: GpuAbilities): KernelSource {
  const traits = FORMATS[spec.format];
  const gated = spec.gated !== undefined;
  const shader = composeShader(
    {
      ...abilityValues(abilities),
      SUBGROUPS: false,
      ...traits.values,
      BIAS: spec.bias === true,
      RESIDUAL: spec.residual === true,
      GATED: gated,
      GELU: spec.gated === 'gelu',
      GATE_ROWS: gated ? 2 : 1,
      N_OUT: gated ? spec.rows / 2 : spec.rows,
      UNITS: unitsPerRow(spec.format, spec.cols),
      K_VECTORS: Math.ceil(spec.cols / 4),
      X_STRIDE: spec.xStride,
      Y_STRIDE: spec.yStride,
      Y_OFFSET: spec.yOffset ?? 0,
      TM: spec.tileRows,
      ROWS_X: spec.tileRows / 16,
    },
    ...traits.files,
    code,
  );
  return {
    label: `matmul ${spec.format} ${spec.rows}x${spec.cols}`,
    code: shader,
    bindings: {
      0: 'read',
      1: 'read',
      ...(traits.scaleBytes > 0 && { 2: 'read' as const }),
      3: 'write',
      ...(spec.bias && { 5: 'read' as const }),
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
    },
    [Math.ceil(spec.rows / 64), Math.ceil(tokenRows / spec.tileRows)],
  );
}
