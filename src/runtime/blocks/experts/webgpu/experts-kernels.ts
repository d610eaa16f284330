import type { GpuAbilities } from '../../../backends/webgpu/device.ts';
import { FORMATS, type DeviceMatrix } from '../../../backends/webgpu/kernels/formats/formats.ts';
import { unitsPerRow } from '../../../backends/weights/unit-formats.ts';
import {
  bindKernel,
  type Dispatch,
  type KernelCompiler,
  type KernelSource,
} from '../../../backends/webgpu/kernels/pipeline.ts';
import { abilityValues, composeShader, type TemplateValues } from '../../../backends/webgpu/kernels/template.ts';
import type { ExpertsConfig } from '../experts.ts';
import downCode from './down.wgsl?raw';
import gateUpCode from './gate-up.wgsl?raw';
import routeCode from './route.wgsl?raw';

export interface ExpertsSpec {
  config: ExpertsConfig;
  hidden: number;
  xStride: number;
  innerStride: number;
  logitsStride: number;
  abilities: GpuAbilities;
}

export interface ExpertsBuffers {
  logits: GPUBuffer;
  /** Biases of the choice, the router and the experts, where there are any: see route.wgsl. */
  extra?: GPUBuffer | undefined;
}

/** Threads that share an output, and outputs of a workgroup. */
function tileOf(units: number, { unroll }: GpuAbilities): { lanes: number; rowLanes: number } {
  if (!unroll) return { lanes: 1, rowLanes: 16 };
  let lanes = 4;
  while (lanes < 32 && lanes * 2 <= units) lanes *= 2;
  return { lanes, rowLanes: 64 / lanes };
}

function common({ config, abilities, logitsStride }: ExpertsSpec, matrix: DeviceMatrix): TemplateValues {
  const traits = FORMATS[matrix.format];
  const units = unitsPerRow(matrix.format, matrix.cols);
  const { lanes, rowLanes } = tileOf(units, abilities);
  return {
    ...abilityValues(abilities),
    SUBGROUPS: false,
    ...traits.values,
    COUNT: config.count,
    USED: config.used,
    SIZE: config.size,
    SIGMOID: config.routing === 'sigmoid',
    SELECTION_BIAS: config.selectionBias,
    BIAS: config.bias,
    EXTRA: config.bias || config.selectionBias,
    WEIGHT_SCALE: config.weightScale,
    LOGITS_STRIDE: logitsStride,
    UNITS: units,
    LANES: lanes,
    ROW_LANES: rowLanes,
    WG: lanes * rowLanes,
  };
}

/** Compiles and binds gate and up of the chosen experts; z: rows, set when recorded. @param norm where x is the residual itself */
export async function bindGateUp(
  device: GPUDevice,
  compiler: KernelCompiler,
  spec: ExpertsSpec,
  matrix: DeviceMatrix,
  buffers: ExpertsBuffers & { x: GPUBuffer; inner: GPUBuffer; gain?: GPUBuffer | undefined },
  norm: { width: number; epsilon: number },
): Promise<Dispatch> {
  const traits = FORMATS[matrix.format];
  const { config } = spec;
  const values = common(spec, matrix);
  const { x, inner, gain, logits, extra } = buffers;
  const source: KernelSource = {
    label: `experts gate-up ${matrix.format}`,
    code: composeShader(
      {
        ...values,
        NORM: gain !== undefined,
        WIDTH: norm.width,
        EPSILON: norm.epsilon,
        CLAMPED: config.activation === 'clamped',
        X_STRIDE: spec.xStride,
        INNER_STRIDE: spec.innerStride,
        HIDDEN: spec.hidden,
      },
      ...traits.files,
      gateUpCode,
      routeCode,
    ),
    bindings: {
      0: 'read',
      1: 'read',
      ...(matrix.scales && { 2: 'read' as const }),
      3: 'write',
      4: 'read',
      ...(extra && { 5: 'read' as const }),
      ...(gain && { 6: 'read' as const }),
    },
  };
  const bound = {
    0: x,
    1: matrix.units,
    ...(matrix.scales && { 2: matrix.scales }),
    3: inner,
    4: logits,
    ...(extra && { 5: extra }),
    ...(gain && { 6: gain }),
  };
  const groups = Math.ceil(config.size / Number(values['ROW_LANES']));
  return bindKernel(device, await compiler.compile(source), bound, [groups, config.used]);
}

/** Compiles and binds the sum of the chosen experts; y: rows, set when recorded. */
export async function bindDown(
  device: GPUDevice,
  compiler: KernelCompiler,
  spec: ExpertsSpec,
  matrix: DeviceMatrix,
  buffers: ExpertsBuffers & { y: GPUBuffer; inner: GPUBuffer },
  { residual, scale }: { residual: boolean; scale: number },
): Promise<Dispatch> {
  const traits = FORMATS[matrix.format];
  const values = common(spec, matrix);
  const { y, inner, logits, extra } = buffers;
  const source: KernelSource = {
    label: `experts down ${matrix.format}`,
    code: composeShader(
      {
        ...values,
        RESIDUAL: residual,
        FACTOR: scale,
        Y_STRIDE: spec.xStride,
        INNER_STRIDE: spec.innerStride,
        HIDDEN: spec.hidden,
      },
      ...traits.files,
      downCode,
      routeCode,
    ),
    bindings: {
      0: 'read',
      1: 'read',
      ...(matrix.scales && { 2: 'read' as const }),
      3: 'write',
      4: 'read',
      ...(extra && { 5: 'read' as const }),
    },
  };
  const bound = {
    0: inner,
    1: matrix.units,
    ...(matrix.scales && { 2: matrix.scales }),
    3: y,
    4: logits,
    ...(extra && { 5: extra }),
  };
  return bindKernel(device, await compiler.compile(source), bound, [
    Math.ceil(spec.hidden / Number(values['ROW_LANES'])),
  ]);
}
