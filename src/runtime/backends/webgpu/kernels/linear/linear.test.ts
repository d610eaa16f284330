import { expect } from 'chai';
import { farthest, onDevice as onAnyDevice, readFloats, runDispatches, seededVector } from '../../testing/gpu.ts';
import { testMatrix } from '../../testing/matrix.ts';
import type { GpuContext } from '../../device.ts';
import type { WeightFormat } from '../../../weights/unit-formats.ts';
import { KernelCompiler } from '../pipeline.ts';
import { bindLinear, defaultLinearTile, linearKernel, type LinearSpec } from './linear.ts';

/** Largest finite number of f16. */
const F16_MAX = 65_504;
const TOLERANCE = { rtol: 2e-5, atol: 2e-4 };

/** Inputs that are there or not as the spec says, the same for GPU and CPU. */
function inputs(spec: LinearSpec, rows: number, mean = 0) {
  const padded = (seed: number, scale: number) => {
    const vector = new Float32Array(rows * spec.xStride);
    for (let row = 0; row < rows; row++)
      vector.set(
        seededVector(seed + row, spec.cols, scale).map((value) => value + mean),
        row * spec.xStride,
      );
    return vector;
  };
  const gain = new Float32Array(spec.xStride);
  gain.set(seededVector(3, spec.cols).map((v) => 1 + v / 4));
  return {
    x: padded(11, 2),
    t: padded(51, 3),
    gain,
    postGain: gain.map((v) => (v === 0 ? 0 : v / 2)),
    bias: seededVector(4, spec.rows + (spec.yOffset ?? 0)),
    y: seededVector(5, rows * spec.yStride),
  };
}

/** The kernel's meaning, as loops in f64. */
function reference(
  spec: LinearSpec,
  w: Float32Array,
  given: ReturnType<typeof inputs>,
  rows: number,
  gather: number[],
) {
  const y = Float32Array.from(given.y);
  const { cols } = spec;
  const norm = (v: Float64Array | Float32Array, gain: Float32Array) => {
    let squares = 0;
    for (const value of v) squares += value * value;
    const factor = 1 / Math.sqrt(squares / spec.norm!.width + spec.norm!.epsilon);
    return Float64Array.from(v, (value, i) => value * factor * gain[i]!);
  };
  const xOut = new Float32Array(given.x.length);
  for (let m = 0; m < rows; m++) {
    const from = (gather[m] ?? m) * spec.xStride;
    let input = Float64Array.from(given.x.subarray(from, from + cols));
    if (spec.postNorm) {
      const post = norm(given.t.subarray(from, from + cols), given.postGain);
      input = input.map((value, i) => value + post[i]!);
      xOut.set(input, from);
    }
    if (spec.norm) input = norm(input, given.gain);
    const sums = Array.from({ length: spec.rows }, (_, n) => {
      let sum = 0;
      for (let k = 0; k < cols; k++) sum += w[n * cols + k]! * input[k]!;
      return sum;
    });
    const outputs = spec.gated ? spec.rows / 2 : spec.rows;
    for (let n = 0; n < outputs; n++) {
      let value = sums[n]!;
      if (spec.gated === 'silu') value = (value / (1 + Math.exp(-value))) * sums[n + outputs]!;
      if (spec.gated === 'gelu') {
        const inner = Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3);
        value = 0.5 * value * (1 + Math.tanh(inner)) * sums[n + outputs]!;
      }
      if (spec.bias) value += given.bias[(spec.yOffset ?? 0) + n]!;
      const to = m * spec.yStride + (spec.yOffset ?? 0) + n;
      y[to] = spec.residual ? y[to]! + value : value;
    }
  }
  return { y, xOut };
}

/** Without a tile: the default one of the device. */
type ShapeSpec = Omit<LinearSpec, 'tile'> & Partial<Pick<LinearSpec, 'tile'>>;

async function check(gpu: GpuContext, shape: ShapeSpec, rows = shape.m, mean = 0): Promise<Float32Array> {
  const { device, memory } = gpu;
  const { format, m } = shape;
  const tile = shape.tile ?? defaultLinearTile(format, shape.rows, shape.cols, m, gpu.abilities);
  const spec: LinearSpec = { ...shape, tile };
  const gather = spec.gatherAt === undefined ? [] : Array.from({ length: rows }, (_, m) => rows - 1 - m);
  const matrix = testMatrix(memory, spec.format, spec.rows, spec.cols, 1);
  const given = inputs(spec, rows, mean);
  const buffer = (label: string, data: Float32Array | Uint32Array) => memory.create(label, data.byteLength, { data });
  const y = buffer('y', given.y);
  const xOut = buffer('x out', new Float32Array(given.x.length));
  const kernel = await new KernelCompiler(device).compile(linearKernel(spec, gpu.abilities));
  const dispatch = bindLinear(
    device,
    kernel,
    spec,
    matrix.device,
    {
      x: buffer('x', given.x),
      y,
      ...(spec.norm && { gain: buffer('gain', given.gain) }),
      ...(spec.bias && { bias: buffer('bias', given.bias) }),
      ...(spec.postNorm && { t: buffer('t', given.t), postGain: buffer('post gain', given.postGain) }),
      ...(spec.xOut && { xOut }),
      ...(spec.gatherAt !== undefined && { step: buffer('step', Uint32Array.from([0, 0, ...gather])) }),
    },
    rows,
  );
  runDispatches(device, [dispatch]);
  const expected = reference(spec, matrix.values, given, rows, gather);
  const name = JSON.stringify(spec);
  const actual = await readFloats(device, y);
  expect(farthest(actual, expected.y, TOLERANCE), name).to.equal(undefined);
  if (spec.xOut) expect(farthest(await readFloats(device, xOut), expected.xOut, TOLERANCE), name).to.equal(undefined);
  return actual;
}

const spec = (
  format: WeightFormat,
  rows: number,
  cols: number,
  m: number,
  more: Partial<LinearSpec> = {},
): ShapeSpec => ({
  format,
  rows,
  cols,
  m,
  xStride: Math.ceil(cols / 32) * 32,
  yStride: Math.ceil((rows + (more.yOffset ?? 0)) / 4) * 4,
  ...more,
});

const norm = { width: 0, epsilon: 1e-6 };
const widthOf = (cols: number) => ({ norm: { ...norm, width: cols } });

const PLAIN = { withoutFeatures: ['subgroups', 'packed_4x8_integer_dot_product'] };
/** Hardware: tiles and straight code as on a GPU, whose rows span subgroups of a software adapter. */
const VARIANTS = [
  { name: 'subgroups', options: {}, hardware: false },
  { name: 'plain', options: PLAIN, hardware: false },
  { name: 'subgroups, as on hardware', options: {}, hardware: true },
  { name: 'plain, as on hardware', options: PLAIN, hardware: true },
];

for (const { name, options, hardware } of VARIANTS) {
  const onDevice = (body: (gpu: GpuContext) => Promise<void>) =>
    onAnyDevice((gpu) => body({ ...gpu, abilities: { ...gpu.abilities, unroll: hardware } }), options);
  // SwiftShader takes seconds to compile straight code for 8 rows.
  const manyRows = hardware ? 2 : 8;

  describe(`linear kernel, ${name}`, () => {
    it(`linear: every format matches a CPU loop for 1 and ${manyRows} rows`, () =>
      onDevice(async (gpu) => {
        for (const format of ['int4', 'int4m', 'int8', 'int8m', 'f16', 'bf16', 'f32'] as const) {
          for (const m of [1, manyRows]) await check(gpu, spec(format, 70, 96, m));
        }
      }));

    it('linear: rows that are no multiple of 32 work in the float formats', () =>
      onDevice(async (gpu) => {
        for (const format of ['f16', 'bf16', 'f32'] as const) await check(gpu, spec(format, 61, 172, 2, widthOf(172)));
      }));

    it('linear: norm, bias and column offset are fused as stated', () =>
      onDevice(async (gpu) => {
        for (const m of [1, hardware ? 2 : 4])
          await check(gpu, spec('int4', 48, 896, m, { ...widthOf(896), bias: true, yOffset: 16 }));
      }));

    it('linear: gate, up and activation are fused as stated', () =>
      onDevice(async (gpu) => {
        for (const gated of ['silu', 'gelu'] as const) {
          for (const m of [1, hardware ? 2 : 4])
            await check(gpu, spec('int4m', 2 * 86, 128, m, { ...widthOf(128), gated }));
        }
      }));

    it('linear: the residual is added in place', () =>
      onDevice(async (gpu) => {
        await check(gpu, spec('int8', 128, 352, 1, { residual: true }));
      }));

    it('linear: a norm of the branch before is added, and stored once', () =>
      onDevice(async (gpu) => {
        for (const m of [1, hardware ? 2 : 4])
          await check(gpu, spec('int4', 300, 160, m, { ...widthOf(160), postNorm: widthOf(160).norm, xOut: true }));
      }));

    it('linear: rows can be picked from a list, and go on over several M', () =>
      onDevice(async (gpu) => {
        await check(gpu, spec('int4', 40, 64, 2, { ...widthOf(64), gatherAt: 2 }), 4);
      }));

    it('linear: every tile gives the same', () =>
      onDevice(async (gpu) => {
        for (const tile of [
          { lanes: 4, rowLanes: 16, rows: 1 },
          { lanes: 8, rowLanes: 8, rows: 4 },
          { lanes: 32, rowLanes: 1, rows: 2 },
          { lanes: 32, rowLanes: 4, rows: 4 },
          { lanes: 64, rowLanes: 1, rows: 8 },
          { lanes: 1, rowLanes: 16, rows: 4 },
        ]) {
          await check(gpu, spec('int4', 100, 416, 1, { ...widthOf(416), tile }));
        }
      }));

    it('linear: sums over 8192 columns that overflow f16 stay finite', () =>
      onDevice(async (gpu) => {
        // int4m: weights of 0 and above, and here inputs too, so that nothing cancels out.
        for (const m of [1, 2]) {
          const sums = await check(gpu, spec('int4m', 8, 8192, m), m, 40);
          expect(Math.min(...sums.subarray(0, 8))).to.be.greaterThan(2 * F16_MAX);
        }
      }));
  });
}
