import bf16 from './bf16.wgsl?raw';
import f16 from './f16.wgsl?raw';
import f32 from './f32.wgsl?raw';
import int4 from './int4.wgsl?raw';
import int8 from './int8.wgsl?raw';
import unpack from './unpack.wgsl?raw';
import { UNIT_FORMATS, type UnitFormat, type WeightFormat } from '../../../weights/unit-formats.ts';
import type { TemplateValues } from '../template.ts';

/** What kernels need to know of a format. */
export interface FormatTraits extends UnitFormat {
  /** Template values of the format. */
  values: TemplateValues;
  /** WGSL files that declare `UNIT_X`, `decode` and `unit_scale`. */
  files: readonly string[];
}

export const FORMATS: Readonly<Record<WeightFormat, FormatTraits>> = {
  int4: traits('int4', int4, { SCALED: true, OFFSET: true }),
  int4m: traits('int4m', int4, { SCALED: true, OFFSET: true, MINIMUM: true }),
  int8: traits('int8', int8, { SCALED: true }),
  int8m: traits('int8m', int8, { SCALED: true, OFFSET: true, MINIMUM: true }),
  f16: traits('f16', f16, {}),
  bf16: traits('bf16', bf16, {}),
  f32: traits('f32', f32, {}),
};

function traits(format: WeightFormat, file: string, values: TemplateValues): FormatTraits {
  const unit = UNIT_FORMATS[format];
  return {
    ...unit,
    values: { SCALED: false, OFFSET: false, MINIMUM: false, ...values, UNIT_VECTORS: unit.unitSize / 4 },
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
