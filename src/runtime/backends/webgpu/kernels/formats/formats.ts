import bf16 from './bf16.wgsl?raw';
import f16 from './f16.wgsl?raw';
import f32 from './f32.wgsl?raw';
import int4 from './int4.wgsl?raw';
import int8 from './int8.wgsl?raw';
import unpack from './unpack.wgsl?raw';
import type { TemplateValues } from '../template.ts';

/**
 * How a matrix lies on the device: 16-byte units along each row, and f16 scales beside them. `int4m` and `int8m` have an f16 minimum
 * for each unit too. Rows of the float formats are padded with zeros to whole units.
 */
export type WeightFormat = 'int4' | 'int4m' | 'int8' | 'int8m' | 'f16' | 'bf16' | 'f32';

export interface FormatTraits {
  /** Weights in a unit of 16 bytes. */
  unitSize: number;
  /** Bytes of scale (and minimum) that go with a unit. */
  scaleBytes: 0 | 2 | 4;
  /** Template values of the format. */
  values: TemplateValues;
  /** WGSL files that declare `UNIT_X`, `decode` and `unit_scale`. */
  files: readonly string[];
}

export const FORMATS: Readonly<Record<WeightFormat, FormatTraits>> = {
  int4: traits(32, 2, int4, { SCALED: true, OFFSET: true }),
  int4m: traits(32, 4, int4, { SCALED: true, OFFSET: true, MINIMUM: true }),
  int8: traits(16, 2, int8, { SCALED: true }),
  int8m: traits(16, 4, int8, { SCALED: true, OFFSET: true, MINIMUM: true }),
  f16: traits(8, 0, f16, {}),
  bf16: traits(8, 0, bf16, {}),
  f32: traits(4, 0, f32, {}),
};

function traits(unitSize: number, scaleBytes: 0 | 2 | 4, file: string, values: TemplateValues): FormatTraits {
  return {
    unitSize,
    scaleBytes,
    values: { SCALED: false, OFFSET: false, MINIMUM: false, ...values, UNIT_VECTORS: unitSize / 4 },
    files: [unpack, file],
  };
}

/** A matrix on the device, y = W x: `rows` outputs, `cols` inputs. */
export interface DeviceMatrix {
  readonly format: WeightFormat;
  readonly rows: number;
  readonly cols: number;
  /** [rows, units] of 16 bytes. */
  readonly units: GPUBuffer;
  /** [rows, units] of f16 scales, or scale and minimum; absent for float formats. */
  readonly scales?: GPUBuffer;
}

/** Units of a row. */
export function unitsPerRow(format: WeightFormat, cols: number): number {
  return Math.ceil(cols / FORMATS[format].unitSize);
}

/** Bytes of a matrix on the device. */
export function matrixBytes(format: WeightFormat, rows: number, cols: number): number {
  return rows * unitsPerRow(format, cols) * (16 + FORMATS[format].scaleBytes);
}
