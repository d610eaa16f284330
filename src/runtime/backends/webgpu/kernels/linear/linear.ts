import type { GpuAbilities } from '../../device.ts';
import { epilogueValues, type EpilogueSpec } from '../epilogue/epilogue.ts';
import epilogue from '../epilogue/epilogue.wgsl?raw';
import { unitsPerRow, type WeightFormat } from '../../../weights/unit-formats.ts';
import { FORMATS, type DeviceMatrix } from '../formats/formats.ts';
import { bindKernel, type Dispatch, type Kernel, type KernelSource } from '../pipeline.ts';
import { abilityValues, composeShader } from '../template.ts';
import code from './linear.wgsl?raw';

/** How a workgroup is cut: `lanes` threads walk along a row, `rowLanes` of them side by side, each with `rows` rows. */
export interface LinearTile {
  lanes: number;
  rowLanes: number;
  rows: number;
}

export interface LinearSpec extends EpilogueSpec {
  format: WeightFormat;
  cols: number;
  /** Token rows computed at a time. */
  m: number;
  /** f32 between two rows of x; a multiple of 4. */
  xStride: number;
  /** Normalise x first; `width` and `epsilon` of the RMSNorm. */
  norm?: { width: number; epsilon: number };
  /** Add RMSNorm(t) * gain to x before that norm; `width` and `epsilon` of this RMSNorm. `scaled`: the sum is multiplied with what comes after its gains. */
  postNorm?: { width: number; epsilon: number; scaled?: boolean };
  /** Store x with RMSNorm(t) added. */
  xOut?: boolean;
  /** Word of the step buffer from which on the rows of x are listed. */
  gatherAt?: number;
  tile: LinearTile;
}

export interface LinearBuffers {
  x: GPUBuffer;
  y: GPUBuffer;
  gain?: GPUBuffer;
  bias?: GPUBuffer;
  t?: GPUBuffer;
  postGain?: GPUBuffer;
  xOut?: GPUBuffer;
  step?: GPUBuffer;
  factor?: GPUBuffer | undefined;
}

/** Matrix times one row or a few, with what comes before and after it fused in. */
export function linearKernel(spec: LinearSpec, abilities: GpuAbilities): KernelSource {
  const traits = FORMATS[spec.format];
  const { lanes, rowLanes, rows } = spec.tile;
  const has = {
    NORM: spec.norm !== undefined,
    POST_NORM: spec.postNorm !== undefined,
    POST_SCALED: spec.postNorm?.scaled === true,
    X_OUT: spec.xOut === true,
    GATHER: spec.gatherAt !== undefined,
  };
  const direct = lanes === 1 || lanes <= (abilities.subgroups?.min ?? 0);
  const shader = composeShader(
    {
      ...abilityValues(abilities),
      ...traits.values,
      ...has,
      ...epilogueValues(spec, false),
      PER_LANE: spec.gated ? rows / 2 : rows,
      DIRECT: direct,
      SHUFFLE: lanes > 1,
      PARTIALS: direct ? lanes * rowLanes : (rows + 1) * lanes * rowLanes,
      GATHER_AT: spec.gatherAt ?? 0,
      UNITS: unitsPerRow(spec.format, spec.cols),
      X_STRIDE: spec.xStride,
      X_VECTORS: Math.ceil(spec.cols / 4),
      WIDTH: (spec.norm ?? spec.postNorm)?.width ?? spec.cols,
      EPSILON: (spec.norm ?? spec.postNorm)?.epsilon ?? 0,
      M: spec.m,
      TK: lanes,
      TR: rowLanes,
      ROWS: rows,
      WG: lanes * rowLanes,
    },
    ...traits.files,
    epilogue,
    code,
  );
  return {
    label: `linear ${spec.format} ${spec.rows}x${spec.cols} m${spec.m}`,
    code: shader,
    bindings: {
      0: 'read',
      1: 'read',
      ...(traits.scaleBytes > 0 && { 2: 'read' as const }),
      3: 'write',
      ...(has.NORM && { 4: 'read' as const }),
      ...(spec.bias && { 5: 'read' as const }),
      ...(has.POST_NORM && { 6: 'read' as const, 7: 'read' as const }),
      ...(has.X_OUT && { 8: 'write' as const }),
      ...(spec.factor && { 10: 'read' as const }),
      ...(has.GATHER && { 9: 'read' as const }),
    },
  };
}

/** @param tokenRows rows of x, rounded up to whole M */
export function bindLinear(
  device: GPUDevice,
  kernel: Kernel,
  spec: LinearSpec,
  matrix: DeviceMatrix,
  buffers: LinearBuffers,
  tokenRows = spec.m,
): Dispatch {
  return bindKernel(
    device,
    kernel,
    {
      0: buffers.x,
      1: matrix.units,
      ...(matrix.scales && { 2: matrix.scales }),
      3: buffers.y,
      ...(buffers.gain && { 4: buffers.gain }),
      ...(buffers.bias && { 5: buffers.bias }),
      ...(buffers.t && { 6: buffers.t }),
      ...(buffers.postGain && { 7: buffers.postGain }),
      ...(buffers.xOut && { 8: buffers.xOut }),
      ...(buffers.step && { 9: buffers.step }),
      ...(buffers.factor && { 10: buffers.factor }),
    },
    [linearGroups(spec), Math.ceil(tokenRows / spec.m)],
  );
}

/** Workgroups that the rows of the matrix take. */
export function linearGroups(spec: LinearSpec): number {
  const perGroup = spec.tile.rowLanes * spec.tile.rows;
  return Math.ceil(spec.rows / perGroup);
}

/** A tile that does well without having been measured: enough lanes for one pass over short rows, some rows each for reuse of x. */
export function defaultLinearTile(
  format: WeightFormat,
  rows: number,
  cols: number,
  m: number,
  abilities: GpuAbilities,
): LinearTile {
  // A software adapter pays for every barrier and every thread: a few whole rows each, no lanes. With several rows of x, which are read
  // again for each row of W, more rows of W a thread: a third to a half faster on SwiftShader and on lavapipe than 4.
  if (!abilities.unroll) return m > 1 ? { lanes: 1, rowLanes: 8, rows: 8 } : { lanes: 1, rowLanes: 16, rows: 4 };
  const units = unitsPerRow(format, cols);
  let lanes = 4;
  while (lanes < 32 && lanes * 2 <= units) lanes *= 2;
  const perThread = m >= 4 ? 2 : rows >= 2048 ? 4 : 2;
  return { lanes, rowLanes: 64 / lanes, rows: perThread };
}
