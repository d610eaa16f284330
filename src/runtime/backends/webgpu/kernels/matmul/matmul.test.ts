import { expect } from 'chai';
import type { GpuContext } from '../../device.ts';
import { farthest, onDevice, readFloats, runDispatches, seededVector } from '../../testing/gpu.ts';
import { testMatrix } from '../../testing/matrix.ts';
import { KernelCompiler } from '../pipeline.ts';
import { bindMatmul, canMatmul, matmulKernel, type MatmulSpec } from './matmul.ts';

/** Largest finite number of f16. */
const F16_MAX = 65_504;
const TOLERANCE = { rtol: 2e-5, atol: 5e-4 };

interface CheckOptions {
  /** Added to every x. */
  mean?: number;
  /** What becomes of x before it is given. */
  given?: (x: Float32Array) => Float32Array;
  /** What the kernel makes of x. */
  seen?: (x: Float32Array) => Float32Array;
  tolerance?: { rtol: number; atol: number };
}

/** Rows are 3 more than a tile, and what lies beyond them must stay as it was. */
async function check(
  gpu: GpuContext,
  shape: Partial<MatmulSpec> & Pick<MatmulSpec, 'format' | 'rows' | 'cols'>,
  { mean = 0, given = (x) => x, seen = (x) => x, tolerance = TOLERANCE }: CheckOptions = {},
): Promise<Float32Array> {
  const { device, memory } = gpu;
  const { rows, cols } = shape;
  const outputs = shape.gated ? rows / 2 : rows;
  const yOffset = shape.yOffset ?? 0;
  const spec: MatmulSpec = {
    xStride: Math.ceil(cols / 32) * 32,
    yStride: Math.ceil((outputs + yOffset) / 4) * 4,
    tile: { tileRows: 32, arithmetic: 'f32' },
    ...shape,
  };
  const tokens = spec.tile.tileRows + 3;
  const room = 2 * spec.tile.tileRows;
  const { device: matrix, values: w } = testMatrix(memory, spec.format, rows, cols, 1);
  const x = new Float32Array(room * spec.xStride);
  for (let m = 0; m < room; m++)
    x.set(
      seededVector(m + 9, cols).map((value) => value + mean),
      m * spec.xStride,
    );
  x.set(given(x));
  const rounded = seen(x);
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
      for (let k = 0; k < cols; k++) total += w[n * cols + k]! * rounded[m * spec.xStride + k]!;
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
  expect(farthest(actual, expected, tolerance), JSON.stringify(spec)).to.equal(undefined);
  return actual.subarray(0, tokens * spec.yStride);
}

/** Rounding to INT8 in groups of 16, as the kernel does. */
function roundToInt8(x: Float32Array): Float32Array {
  const rounded = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += 16) {
    const group = x.subarray(from, from + 16);
    const most = group.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    for (let i = 0; i < group.length; i++)
      rounded[from + i] = most === 0 ? 0 : (Math.round((group[i]! / most) * 127) * most) / 127;
  }
  return rounded;
}

const VARIANTS: Readonly<Record<'f16' | 'dot8', CheckOptions>> = {
  // 8 products of f16 added up in f16, a few hundred such sums in f32.
  f16: { tolerance: { rtol: 2e-3, atol: 0.3 } },
  dot8: { seen: roundToInt8, tolerance: { rtol: 1e-3, atol: 0.02 } },
};

describe('matmul kernel', () => {
  it('matmul: every format matches a CPU loop, with rows and columns that fill no tile', () =>
    onDevice(async (gpu) => {
      for (const format of ['int4', 'int4m', 'int8', 'int8m'] as const)
        await check(gpu, { format, rows: 70, cols: 96 });
      for (const format of ['f16', 'bf16', 'f32'] as const) await check(gpu, { format, rows: 61, cols: 172 });
    }));

  it('matmul: tiles of 64 and 128 rows give the same', () =>
    onDevice(async (gpu) => {
      for (const tileRows of [64, 128]) {
        const tile = { tileRows, arithmetic: 'f32' } as const;
        const room = gpu.device.limits.maxComputeWorkgroupStorageSize;
        if (canMatmul(tile, 'int4', gpu.abilities, room))
          await check(gpu, { format: 'int4', rows: 130, cols: 64, tile });
      }
    }));

  for (const arithmetic of ['f32', 'f16', 'dot8'] as const) {
    const more = arithmetic === 'f32' ? {} : VARIANTS[arithmetic];
    // A device that cannot do it shows the test as skipped.
    const can = (gpu: GpuContext): boolean => canMatmul({ tileRows: 32, arithmetic }, 'int4', gpu.abilities, 16_384);
    const tile = { tileRows: 32, arithmetic };

    const onAble = async (test: Mocha.Context, body: (gpu: GpuContext) => Promise<void>): Promise<void> => {
      const skipped: string[] = [];
      await onDevice((gpu) => {
        if (can(gpu)) return body(gpu);
        skipped.push(gpu.adapter.description);
        return Promise.resolve();
      });
      if (skipped.length > 0) test.skip();
    };

    it(`matmul: bias with a column offset, residual and activation are fused as stated, in ${arithmetic}`, function () {
      return onAble(this, async (gpu) => {
        await check(gpu, { format: 'int4', rows: 40, cols: 64, bias: true, yOffset: 16, tile }, more);
        await check(gpu, { format: 'int8', rows: 40, cols: 64, residual: true, tile }, more);
        await check(gpu, { format: 'int4', rows: 2 * 43, cols: 64, gated: 'silu', tile }, more);
      });
    });

    it(`matmul: integer formats and long sums match, in ${arithmetic}`, function () {
      return onAble(this, async (gpu) => {
        for (const format of ['int4', 'int4m', 'int8', 'int8m'] as const)
          await check(gpu, { format, rows: 70, cols: 160, tile: { ...tile, tileRows: 64 } }, more);
        const sums = await check(gpu, { format: 'int4m', rows: 8, cols: 8192, tile }, { ...more, mean: 40 });
        expect(Math.min(...sums)).to.be.greaterThan(2 * F16_MAX);
      });
    });
  }

  it('matmul: INT8 activations are close to f32 for values of very different size', () =>
    onDevice(async (gpu) => {
      const tile = { tileRows: 32, arithmetic: 'dot8' } as const;
      if (!canMatmul(tile, 'int4', gpu.abilities, 16_384)) return;
      // Groups of 16 have scales of their own: an outlier spoils its neighbours only.
      const wild = (x: Float32Array) => x.map((value, i) => (Math.floor(i / 16) % 3 === 0 ? value * 1000 : value));
      await check(
        gpu,
        { format: 'int4', rows: 40, cols: 96, tile },
        { given: wild, tolerance: { rtol: 0.02, atol: 400 } },
      );
    }));
});
