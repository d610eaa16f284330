import { expect } from 'chai';
import type { GpuContext } from '../../device.ts';
import { farthest, onDevice, readFloats, runDispatches, seededVector } from '../../testing/gpu.ts';
import { KernelCompiler } from '../pipeline.ts';
import { bindNorm, normKernel } from './norm.ts';

const TOLERANCE = { rtol: 1e-5, atol: 1e-6 };
const EPSILON = 1e-5;
const ROWS = 3;

/** RMSNorm (Zhang and Sennrich 2019) in f64: v / sqrt(mean(v^2) + epsilon) * gain. */
function rmsNorm(v: ArrayLike<number>, gain: Float32Array): number[] {
  const values = Array.from(v);
  const mean = values.reduce((sum, value) => sum + value * value, 0) / values.length;
  return values.map((value, i) => (value / Math.sqrt(mean + EPSILON)) * gain[i]!);
}

async function check({ device, memory }: GpuContext, width: number, postNorm: boolean, scale = 1): Promise<void> {
  const stride = Math.ceil(width / 32) * 32;
  const padded = (...rows: Float32Array[]) => {
    const all = new Float32Array(rows.length * stride);
    for (const [row, values] of rows.entries()) all.set(values, row * stride);
    return all;
  };
  const rows = (seed: number) =>
    Array.from({ length: ROWS }, (_, row) => seededVector(seed + row, width, scale * (row + 1)));
  const [x, t] = [rows(1), rows(40)];
  const [gain, postGain] = [seededVector(7, width, 2), seededVector(8, width, 3)];
  const buffer = (label: string, data: Float32Array) => memory.create(label, data.byteLength, { data });
  const buffers = {
    x: buffer('x', padded(...x)),
    gain: buffer('gain', padded(gain)),
    // What lies there before must not show.
    out: buffer('out', padded(...rows(90))),
    ...(postNorm && { t: buffer('t', padded(...t)), postGain: buffer('post gain', padded(postGain)) }),
  };
  const kernel = await new KernelCompiler(device).compile(normKernel({ width, epsilon: EPSILON, stride, postNorm }));
  runDispatches(device, [bindNorm(device, kernel, buffers, ROWS)]);
  const sums = x.map((row, m) => {
    const branch = postNorm ? rmsNorm(t[m]!, postGain) : [];
    return Float32Array.from(row, (value, i) => value + (branch[i] ?? 0));
  });
  const out = await readFloats(device, buffers.out);
  const stored = await readFloats(device, buffers.x);
  for (let m = 0; m < ROWS; m++) {
    const of = (all: Float32Array) => all.subarray(m * stride, m * stride + width);
    expect(farthest(of(out), rmsNorm(sums[m]!, gain), TOLERANCE), `row ${m} of ${width}`).to.equal(undefined);
    expect(farthest(of(stored), sums[m]!, TOLERANCE), `x of row ${m}`).to.equal(undefined);
  }
}

describe('norm kernel', () => {
  it('norm: rows of every width are divided by their root mean square', () =>
    onDevice(async (gpu) => {
      for (const width of [8, 172, 256, 896, 2048]) await check(gpu, width, false);
    }));

  it('norm: the norm of a branch is added first, and the sum stored in place', () =>
    onDevice(async (gpu) => {
      for (const width of [172, 640]) await check(gpu, width, true);
    }));

  it('norm: values whose squares overflow f16 are no trouble', () => onDevice((gpu) => check(gpu, 320, true, 3000)));
});
