/**
 * How rows of a matrix are stored once they are repacked: 16-byte units along each row, and f16 scales beside them. `int4m` and `int8m` have an
 * f16 minimum for each unit too. Rows of the float formats are padded with zeros to whole units.
 */
export type WeightFormat = 'int4' | 'int4m' | 'int8' | 'int8m' | 'f16' | 'bf16' | 'f32';

export interface UnitFormat {
  /** Weights in a unit of 16 bytes. */
  unitSize: number;
  /** Bytes of scale (and minimum) that go with a unit. */
  scaleBytes: 0 | 2 | 4;
}

export const UNIT_FORMATS: Readonly<Record<WeightFormat, UnitFormat>> = {
  int4: { unitSize: 32, scaleBytes: 2 },
  int4m: { unitSize: 32, scaleBytes: 4 },
  int8: { unitSize: 16, scaleBytes: 2 },
  int8m: { unitSize: 16, scaleBytes: 4 },
  f16: { unitSize: 8, scaleBytes: 0 },
  bf16: { unitSize: 8, scaleBytes: 0 },
  f32: { unitSize: 4, scaleBytes: 0 },
};

/** Units of a row. */
export function unitsPerRow(format: WeightFormat, cols: number): number {
  return Math.ceil(cols / UNIT_FORMATS[format].unitSize);
}

/** Bytes of a matrix in that format. */
export function matrixBytes(format: WeightFormat, rows: number, cols: number): number {
  return rows * unitsPerRow(format, cols) * (16 + UNIT_FORMATS[format].scaleBytes);
}
