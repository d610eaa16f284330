import type { GpuAbilities } from '../../device.ts';
import { unitsPerRow, type WeightFormat } from '../../../weights/unit-formats.ts';
import { FORMATS, type DeviceMatrix } from '../formats/formats.ts';
import { bindKernel, type Dispatch, type Kernel, type KernelSource } from '../pipeline.ts';
import { abilityValues, composeShader } from '../template.ts';
import code from './embed.wgsl?raw';

export interface EmbedSpec {
  format: WeightFormat;
  /** Rows of this part of the matrix, the first of them, and of all parts. */
  rows: number;
  from: number;
  vocabulary: number;
  cols: number;
  xStride: number;
  /** Factor on every value (Gemma: the square root of the width). */
  scale: number;
  /** Word of the step buffer where rows begin. */
  rowsAt: number;
  /** Tokens of a sequence at most, where their ids are kept. */
  history?: number;
}

export interface EmbedBuffers {
  x: GPUBuffer;
  step: GPUBuffer;
  tokens: GPUBuffer;
  history?: GPUBuffer;
}

/** Token ids, from the step or from a GPU buffer, to rows of x. */
export function embedKernel(spec: EmbedSpec, abilities: GpuAbilities): KernelSource {
  const traits = FORMATS[spec.format];
  return {
    label: `embed ${spec.format}`,
    code: composeShader(
      {
        ...abilityValues(abilities),
        SUBGROUPS: false,
        ...traits.values,
        ROWS: spec.rows,
        FROM: spec.from,
        VOCABULARY: spec.vocabulary,
        UNITS: unitsPerRow(spec.format, spec.cols),
        X_STRIDE: spec.xStride,
        SCALE: spec.scale,
        ROWS_AT: spec.rowsAt,
        HISTORY: spec.history !== undefined,
        CONTEXT: spec.history ?? 0,
      },
      ...traits.files,
      code,
    ),
    bindings: {
      0: 'read',
      ...(traits.scaleBytes > 0 && { 1: 'read' as const }),
      2: 'write',
      3: 'read',
      4: 'read',
      ...(spec.history !== undefined && { 5: 'write' as const }),
    },
  };
}

export function bindEmbed(
  device: GPUDevice,
  kernel: Kernel,
  spec: EmbedSpec,
  matrix: DeviceMatrix,
  buffers: EmbedBuffers,
  tokenRows: number,
): Dispatch {
  return bindKernel(
    device,
    kernel,
    {
      0: matrix.units,
      ...(matrix.scales && { 1: matrix.scales }),
      2: buffers.x,
      3: buffers.step,
      4: buffers.tokens,
      ...(buffers.history && { 5: buffers.history }),
    },
    [Math.ceil(unitsPerRow(spec.format, spec.cols) / 64), tokenRows],
  );
}
