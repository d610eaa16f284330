import { expect } from 'chai';
import { dequantize } from '../../models/gguf/dequantize.ts';
import { f16ToNumber } from '../../models/gguf/f16.ts';
import { BLOCK_LAYOUTS, type GgmlType } from '../../models/gguf/tensor-types.ts';
import { randomRows } from '../../models/testing/random-weights.ts';
import { SeededRandom } from '../../models/testing/random.ts';
import { DEVICE_FORMATS, repackRows, type PackedRows } from './repack.ts';
import { UNIT_FORMATS, unitsPerRow, type WeightFormat } from './unit-formats.ts';

/** Values of a device format, as `webgpu/kernels/formats/*.wgsl` define them. */
function unpack(format: WeightFormat, { units, scales }: PackedRows, rows: number, cols: number): Float64Array {
  const values = new Float64Array(rows * cols);
  const perRow = unitsPerRow(format, cols);
  const { unitSize } = UNIT_FORMATS[format];
  const halves = new Uint16Array(scales.buffer);
  const view = new DataView(units.buffer);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const unit = row * perRow + Math.floor(col / unitSize);
      const i = col % unitSize;
      const at = unit * 16;
      const isPair = UNIT_FORMATS[format].scaleBytes === 4;
      const scale = f16ToNumber(halves[isPair ? unit * 2 : unit] ?? 0);
      const minimum = isPair ? f16ToNumber(halves[unit * 2 + 1]!) : 0;
      const raw = {
        int4: () => scale * (((units[at + (i % 16)]! >> (i < 16 ? 0 : 4)) & 15) - 8),
        int4m: () => scale * ((units[at + (i % 16)]! >> (i < 16 ? 0 : 4)) & 15) + minimum,
        int8: () => scale * view.getInt8(at + i),
        int8m: () => scale * view.getInt8(at + i) + minimum,
        f16: () => f16ToNumber(view.getUint16(at + i * 2, true)),
        bf16: () => new Float32Array(new Uint32Array([view.getUint16(at + i * 2, true) << 16]).buffer)[0]!,
        f32: () => view.getFloat32(at + i * 4, true),
      }[format];
      values[row * cols + col] = raw();
    }
  }
  return values;
}

const EXACT = new Set<GgmlType>(['F32', 'F16', 'BF16', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0']);

describe('repackRows', () => {
  for (const type of Object.keys(BLOCK_LAYOUTS) as GgmlType[]) {
    const exact = EXACT.has(type);
    it(`repackRows: ${type} keeps its values${exact ? ' exactly' : ' but for the rounding of scales to f16'}`, () => {
      const [rows, cols] = [3, BLOCK_LAYOUTS[type].blockSize === 1 ? 172 : 512];
      const bytes = fileRows(type, rows, cols);
      const format = DEVICE_FORMATS[type];
      const expected = dequantize(type, bytes);
      const actual = unpack(format, repackRows(type, format, bytes, cols), rows, cols);
      const most = expected.reduce((sum, value) => Math.max(sum, Math.abs(value)), 0);
      for (let i = 0; i < expected.length; i++) {
        // Scale and minimum are rounded by 2^-11 each, and both may be larger than their difference, the weight.
        const tolerance = exact ? Math.abs(expected[i]!) * 2 ** -23 : most * 2 ** -9;
        expect(actual[i]!, `value ${i}`).to.be.closeTo(expected[i]!, tolerance + 1e-12);
      }
    });
  }

  it('repackRows: any type can be taken as f16', () => {
    const bytes = fileRows('Q4_K', 2, 256);
    const expected = dequantize('Q4_K', bytes);
    const actual = unpack('f16', repackRows('Q4_K', 'f16', bytes, 256), 2, 256);
    for (let i = 0; i < expected.length; i++) {
      expect(actual[i]!).to.be.closeTo(expected[i]!, Math.abs(expected[i]!) * 2 ** -11 + 2 ** -25);
    }
  });
});

function fileRows(type: GgmlType, rows: number, cols: number): Uint8Array {
  const deviations = Array.from({ length: rows }, (_, row) => 0.02 * (row + 1));
  return randomRows(type, cols, deviations, new SeededRandom(5));
}
