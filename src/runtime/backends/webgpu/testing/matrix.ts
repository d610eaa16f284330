import { unitsPerRow, type WeightFormat } from '../../weights/unit-formats.ts';
import { FORMATS, type DeviceMatrix } from '../kernels/formats/formats.ts';
import type { GpuMemory } from '../memory.ts';
import { seededUniform } from './gpu.ts';

/** A matrix with random content in a device format, and the very same values for a CPU loop. */
export interface TestMatrix {
  device: DeviceMatrix;
  /** [rows, cols] */
  values: Float32Array;
}

export function testMatrix(
  memory: GpuMemory,
  format: WeightFormat,
  rows: number,
  cols: number,
  seed: number,
): TestMatrix {
  const { unitSize, scaleBytes } = FORMATS[format];
  const perRow = unitsPerRow(format, cols);
  const units = new Uint32Array(rows * perRow * 4);
  const bytes = new Uint8Array(units.buffer);
  const scales = new Uint32Array(Math.ceil((rows * perRow * scaleBytes) / 4));
  const values = new Float32Array(rows * cols);
  const next = seededUniform(seed);
  for (let row = 0; row < rows; row++) {
    for (let unit = 0; unit < perRow; unit++) {
      const index = row * perRow + unit;
      // Powers of two and their sums are exact in f16.
      const scale = (1 + Math.floor((next() + 1) * 4)) / 64;
      const minimum = scaleBytes === 4 ? Math.floor(next() * 8) / 16 : format === 'int4' ? -8 * scale : 0;
      if (scaleBytes === 4) scales[index] = halfBits(scale) | (halfBits(minimum) << 16);
      else if (scaleBytes === 2) scales[index >> 1]! |= halfBits(scale) << (16 * (index & 1));
      for (let i = 0; i < unitSize; i++) {
        const col = unit * unitSize + i;
        if (col >= cols) continue;
        const raw = Math.floor((next() + 1) * 128);
        const at = index * 16;
        let value: number;
        if (format === 'int4' || format === 'int4m') {
          bytes[at + (i % 16)]! |= (raw >> 4) << (i < 16 ? 0 : 4);
          value = (raw >> 4) * scale + minimum;
        } else if (format === 'int8' || format === 'int8m') {
          bytes[at + i] = raw - 128;
          value = (raw - 128) * scale + minimum;
        } else {
          value = (raw - 128) / 64;
          if (format === 'f32') new Float32Array(units.buffer)[index * 4 + i] = value;
          else {
            const bits =
              format === 'f16' ? halfBits(value) : new Uint32Array(new Float32Array([value]).buffer)[0]! >>> 16;
            units[index * 4 + (i >> 1)]! |= bits << (16 * (i & 1));
          }
        }
        values[row * cols + col] = value;
      }
    }
  }
  const device: DeviceMatrix = {
    format,
    rows,
    cols,
    units: memory.create('test units', units.byteLength, { data: units }),
    ...(scaleBytes > 0 && { scales: memory.create('test scales', scales.byteLength, { data: scales }) }),
  };
  return { device, values };
}

/** Bits of a number that f16 holds exactly (normal or zero). */
export function halfBits(value: number): number {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0]!;
  if (value === 0) return 0;
  return ((bits >>> 16) & 0x8000) | ((((bits >>> 23) & 0xff) - 112) << 10) | ((bits >>> 13) & 0x3ff);
}
