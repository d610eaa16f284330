import { acquireDevice, type GpuContext, type GpuDeviceOptions } from '../device.ts';
import { GPU_COPY_DST, GPU_MAP_READ } from '../memory.ts';
import { record, type Dispatch } from '../kernels/pipeline.ts';

/** Numbers that look random and are the same on every machine: uniform in [-1, 1). */
export function seededUniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 23 - 1;
  };
}

export function seededVector(seed: number, length: number, scale = 1): Float32Array {
  const next = seededUniform(seed);
  return Float32Array.from({ length }, () => next() * scale);
}

/** Runs `body` on a device of its own; a validation error or a buffer left alive afterwards is an error. */
export async function onDevice(
  body: (gpu: GpuContext) => Promise<void>,
  options: GpuDeviceOptions = {},
): Promise<void> {
  const gpu = await acquireDevice(options);
  let lost: Error | undefined;
  void gpu.lost.then((error) => (lost = error));
  try {
    await body(gpu);
    await gpu.device.queue.onSubmittedWorkDone();
    if (lost) throw lost;
  } finally {
    gpu.destroy();
  }
}

/** Runs dispatches in one pass. */
export function runDispatches(device: GPUDevice, dispatches: readonly Dispatch[]): void {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (const dispatch of dispatches) record(pass, dispatch);
  pass.end();
  device.queue.submit([encoder.finish()]);
}

/** Content of a buffer as f32. */
export async function readFloats(device: GPUDevice, buffer: GPUBuffer): Promise<Float32Array> {
  return new Float32Array(await readBuffer(device, buffer));
}

export async function readBuffer(device: GPUDevice, buffer: GPUBuffer): Promise<ArrayBuffer> {
  const staging = device.createBuffer({ size: buffer.size, usage: GPU_MAP_READ | GPU_COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const copy = staging.getMappedRange().slice(0);
  staging.destroy();
  return copy;
}

/** Where `actual` strays furthest from `expected`, if beyond `atol + rtol * |expected|`; undefined if it is close everywhere. */
export function farthest(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  { rtol, atol }: { rtol: number; atol: number },
): string | undefined {
  let worst = 0;
  let at = -1;
  for (let i = 0; i < expected.length; i++) {
    const excess = Math.abs(actual[i]! - expected[i]!) / (atol + rtol * Math.abs(expected[i]!));
    if (!(excess <= Math.max(1, worst))) {
      worst = excess;
      at = i;
    }
  }
  if (at < 0) return undefined;
  return `at ${at}: ${actual[at] ?? 'nothing'} instead of ${expected[at]!} (${worst.toFixed(1)} times the tolerance)`;
}
