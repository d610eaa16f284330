import { expect } from 'chai';
import type { GpuContext } from '../../device.ts';
import { farthest, onDevice, readFloats, runDispatches, seededVector } from '../../testing/gpu.ts';
import { testMatrix } from '../../testing/matrix.ts';
import { KernelCompiler } from '../pipeline.ts';
import { bindMatmul, matmulKernel, type MatmulSpec } from './matmul.ts';

/** Largest finite number of f16. */
const F16_MAX = 65_504;
const TOLERANCE = { rtol: 2e-5, atol: 5e-4 };

/** Rows are 3 more than a tile, and what lies beyond them must stay as it was. */
async function check(
  gpu: GpuContext,
  shape: Partial<MatmulSpec> & Pick<MatmulSpec, 'format' | 'rows' | 'cols'>,
  mean = 0,
): Promise<Float32Array> {
  const { device, memory } = gpu;
  const { rows, cols } = shape;
  const outputs = shape.gated ? rows / 2 : rows;
  const yOffset = shape.yOffset ?? 0;
  const spec: MatmulSpec = {
    xStride: Math.ceil(cols / 32) * 32,
    yStride: Math.ceil((outputs + yOffset) / 4) * 4,
    tileRows: 32,
    ...shape,
  };
  const tokens = spec.tileRows + 3;
  const room = 2 * spec.tileRows;
  const { device: matrix, values: w } = testMatrix(memory, spec.format, rows, cols, 1);
  const x = new Float32Array(room * spec.xStride);
  for (let m = 0; m < room; m++)
    x.set(
      seededVector(m + 9, cols).map((value) => value + mean),
      m * spec.xStride,
    );
  const bias = seededVector(4, outputs + yOffset);
  const before = seededVector(5, room * spec.yStride);
  const buffer = (label: string, data: Float32Array | Uint32Array) => memory.create(label, data.byteLength, { data });
  const y = buffer('y', before);
  const kernel = await new KernelCompiler(device).compile(matmulKernel(spec, gpu.abilities));
  const buffers = {
    x: buffer('x', x),
    y,
    step: buffer('step', Uint32Array.of(tokens)),
    ...(spec.bias && { bias: buffer('bias', bias) }),
  };
  runDispatches(device, [bindMatmul(device, kernel, spec, matrix, buffers, tokens)]);
  const expected = Float32Array.from(before);
  for (let m = 0; m < tokens; m++) {
    const sum = (n: number) => {
      let total = 0;
      for (let k = 0; k < cols; k++) total += w[n * cols + k]! * x[m * spec.xStride + k]!;
      return total;
    };
    for (let n = 0; n < outputs; n++) {
      let value = sum(n);
      if (spec.gated) value = (value / (1 + Math.exp(-value))) * sum(n + outputs);
      if (spec.bias) value += bias[yOffset + n]!;
      const to = m * spec.yStride + yOffset + n;
      expected[to] = spec.residual ? expected[to]! + value : value;
    }
  }
  const actual = await readFloats(device, y);
  expect(farthest(actual, expected, TOLERANCE), JSON.stringify(spec)).to.equal(undefined);
  return actual.subarray(0, tokens * spec.yStride);
}

describe('matmul kernel', function () {
  this.timeout(120_000);

  it('matmul: every format matches a CPU loop, with rows and columns that fill no tile', () =>
    onDevice(async (gpu) => {
      for (const format of ['int4', 'int4m', 'int8', 'int8m'] as const)
        await check(gpu, { format, rows: 70, cols: 96 });
      for (const format of ['f16', 'bf16', 'f32'] as const) await check(gpu, { format, rows: 61, cols: 172 });
    }));

  it('matmul: bias with a column offset, residual and activation are fused as stated', () =>
    onDevice(async (gpu) => {
      await check(gpu, { format: 'int4', rows: 40, cols: 64, bias: true, yOffset: 16 });
      await check(gpu, { format: 'int8', rows: 40, cols: 64, residual: true });
      await check(gpu, { format: 'int4', rows: 2 * 43, cols: 64, gated: 'silu' });
    }));

  it('matmul: sums over 8192 columns that overflow f16 stay finite', () =>
    onDevice(async (gpu) => {
      // int4m: weights of 0 and above, and inputs too, so that nothing cancels out.
      const sums = await check(gpu, { format: 'int4m', rows: 8, cols: 8192 }, 40);
      expect(Math.min(...sums)).to.be.greaterThan(2 * F16_MAX);
    }));

  it('matmul: tiles of 64 rows give the same', () =>
    onDevice(async (gpu) => {
      await check(gpu, { format: 'int4', rows: 130, cols: 64, tileRows: 64 });
    }));
});
