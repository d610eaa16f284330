import { systemClock, type Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { AdapterInfo } from '../../../shared/info.ts';
import chainCode from './chain.wgsl?raw';
import { measurementOf, type DeviceProbe, type Measurement, type ProbeField } from './device-probe.ts';
import dotCode from './dot-int8.wgsl?raw';
import fillCode from './fill.wgsl?raw';
import f16Code from './flop-f16.wgsl?raw';
import f32Code from './flop-f32.wgsl?raw';
import { GpuBench, USAGE } from './gpu-bench.ts';
import { measureRate, scaled, type Outcome } from './repeat.ts';
import readCode from './stream-read.wgsl?raw';
import { timerResolutionMs, tooCoarse } from './timer.ts';

export interface GpuProbeOptions {
  /** Goes into the result. On a software adapter less memory is read. */
  adapter?: AdapterInfo;
  clock?: Clock;
  /** Bytes to read at most; caches smaller than that do not help. @default 256 MiB, 64 MiB on a software adapter */
  bufferBytes?: number;
  /** A repeat takes about this long, ms; there are some thirty. @default 25 */
  targetMs?: number;
  /** WGSL language features. @default those of `navigator.gpu` */
  languageFeatures?: ReadonlySet<string>;
}

const MIB = 2 ** 20;
/** Bytes that a workgroup of `stream-read` reads in a round. */
const GROUP_BYTES = 256 * 64 * 16;
const THREADS = 256;
const PACKED_DOT = 'packed_4x8_integer_dot_product';

/**
 * Measures a GPU through WebGPU, in one to two seconds: memory bandwidth, arithmetic, the cost of a dispatch, and the way back to the CPU. The
 * device is the caller's, should be idle, and is left as it was.
 *
 * Times are of the wall clock, the wait for a result taken off; timestamps tell only the GPU's share of a dispatch. Nothing is given
 * that the clock is too coarse for.
 *
 * @throws TokenglassError `device-lost`; `internal` if the device refuses a kernel
 */
export async function probeGpu(device: GPUDevice, options: GpuProbeOptions = {}): Promise<DeviceProbe> {
  const { adapter, clock = systemClock, targetMs = 25 } = options;
  const measuredAtMs = clock.now();
  const isSoftware = adapter?.isFallback === true;
  const bench = new GpuBench(device, clock);
  const absent: DeviceProbe['absent'] = {};
  const resolutionMs = timerResolutionMs(clock);
  const rates = { timerResolutionMs: resolutionMs, targetMs };
  const take = (field: ProbeField, outcome: Outcome): Measurement | undefined => {
    if ('measurement' in outcome) return outcome.measurement;
    absent[field] = outcome.reason;
    return undefined;
  };
  try {
    const chain = await chainOf(bench);
    const readback = await readbackLatency(bench, chain, resolutionMs);
    const readbackMs = take('readbackMs', readback.outcome);
    const { latencyMs } = readback;

    const reading = await readRate(bench, options.bufferBytes ?? (isSoftware ? 64 : 256) * MIB, latencyMs, rates);
    const readBytesPerSecond = take('readBytesPerSecond', reading.outcome);

    const groups = isSoftware ? 64 : 2048;
    const flopPerSecond: DeviceProbe['flopPerSecond'] = {};
    const flops = async (format: 'f32' | 'f16' | 'int8', code: string, perThread: number): Promise<void> => {
      const outcome = await arithmeticRate(bench, `flop ${format}`, code, groups, latencyMs, rates);
      const measured = take(`flopPerSecond.${format}`, outcome);
      if (measured) flopPerSecond[format] = scaled(measured, perThread * groups * THREADS * 1000);
    };
    await flops('f32', f32Code, 2048);
    if (device.features.has('shader-f16')) await flops('f16', f16Code, 2048);
    else absent['flopPerSecond.f16'] = 'This device has no shader-f16';
    const features = options.languageFeatures ?? languageFeatures();
    if (features.has(PACKED_DOT)) await flops('int8', dotCode, 8192);
    else absent['flopPerSecond.int8'] = 'This browser has no packed dot product of INT8';

    const dispatch = await dispatchCost(bench, chain, latencyMs, rates);
    const dispatchMs = take('dispatchMs', dispatch.outcome);
    if (!dispatch.gpuMs) absent.dispatchGpuMs = 'This device gives no usable timestamps';
    return {
      schema: 'tokenglass.probe/1',
      device: 'gpu',
      ...(adapter && { adapter }),
      measuredAtMs,
      tookMs: clock.now() - measuredAtMs,
      timerResolutionMs: resolutionMs,
      bufferBytes: reading.bytes,
      ...(readBytesPerSecond && { readBytesPerSecond }),
      flopPerSecond,
      ...(dispatchMs && { dispatchMs }),
      ...(dispatchMs && dispatch.encodeMs && { dispatchEncodeMs: dispatch.encodeMs }),
      ...(dispatchMs && dispatch.gpuMs && { dispatchGpuMs: dispatch.gpuMs }),
      ...(readbackMs && { readbackMs }),
      absent,
    };
  } catch (cause) {
    throw cause instanceof TokenglassError
      ? cause
      : new TokenglassError('device-lost', 'Cannot probe the GPU: it was lost or refused a command; reload the page', {
          cause,
        });
  } finally {
    bench.destroy();
  }
}

type Rates = { timerResolutionMs: number; targetMs: number };
type Chain = { counter: GPUBuffer; record: (pass: GPUComputePassEncoder, count: number) => void };

/** Two pipelines by turns, each with its bind group, as a decode step changes both with every dispatch. */
async function chainOf(bench: GpuBench): Promise<Chain> {
  const counter = await bench.buffer('counter', 4, USAGE.storage | USAGE.copySrc | USAGE.copyDst);
  const even = await bench.kernel('chain even', chainCode, [counter]);
  const odd = await bench.kernel('chain odd', chainCode, [counter]);
  const record: Chain['record'] = (pass, count) => {
    for (let i = 0; i < count; i++) {
      const { pipeline, bindGroup } = i % 2 === 0 ? even : odd;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(1);
    }
  };
  return { counter, record };
}

/** From submit to result. The latency is also what is taken off other times, and is 0 where it cannot be told. */
async function readbackLatency(
  bench: GpuBench,
  { counter, record }: Chain,
  resolutionMs: number,
): Promise<{ outcome: Outcome; latencyMs: number }> {
  const samples: number[] = [];
  for (let i = 0; i < 12; i++) {
    const { waitMs } = await bench.time((pass) => record(pass, 1), counter);
    if (i >= 3) samples.push(waitMs);
  }
  const measurement = measurementOf(samples);
  const reason = tooCoarse(measurement.value, resolutionMs);
  return { outcome: reason === undefined ? { measurement } : { reason }, latencyMs: measurement.value };
}

async function readRate(
  bench: GpuBench,
  wantedBytes: number,
  latencyMs: number,
  rates: Rates,
): Promise<{ outcome: Outcome; bytes: number }> {
  const { limits } = bench.device;
  const most = Math.min(wantedBytes, limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  let groups = Math.min(Math.floor(most / GROUP_BYTES), limits.maxComputeWorkgroupsPerDimension);
  let data: GPUBuffer | undefined;
  // A model may have taken most of the memory.
  for (; groups >= 16; groups >>= 1) {
    data = await bench.tryBuffer('data', groups * GROUP_BYTES, USAGE.storage);
    if (data) break;
  }
  if (!data) return { outcome: { reason: 'There is too little memory left to read from' }, bytes: 0 };
  const sums = await bench.buffer('sums', groups * THREADS * 4, USAGE.storage | USAGE.copySrc);
  const fill = await bench.kernel('fill', fillCode, [data]);
  await bench.time((pass) => GpuBench.record(pass, fill, groups), sums);
  const read = await bench.kernel('stream read', readCode, [bench.rounds, data, sums]);
  const outcome = await measureRate(async (rounds) => {
    bench.setRounds(rounds);
    const { totalMs } = await bench.time((pass) => GpuBench.record(pass, read, groups), sums);
    return totalMs - latencyMs;
  }, rates);
  bench.free(data);
  bench.free(sums);
  const bytes = groups * GROUP_BYTES;
  return {
    outcome: 'measurement' in outcome ? { measurement: scaled(outcome.measurement, bytes * 1000) } : outcome,
    bytes,
  };
}

/** Rounds per ms. */
async function arithmeticRate(
  bench: GpuBench,
  label: string,
  code: string,
  groups: number,
  latencyMs: number,
  rates: Rates,
): Promise<Outcome> {
  const out = await bench.buffer(label, groups * THREADS * 4, USAGE.storage | USAGE.copySrc);
  const kernel = await bench.kernel(label, code, [bench.rounds, out]);
  const outcome = await measureRate(async (rounds) => {
    bench.setRounds(rounds);
    const { totalMs } = await bench.time((pass) => GpuBench.record(pass, kernel, groups), out);
    return totalMs - latencyMs;
  }, rates);
  bench.free(out);
  return outcome;
}

async function dispatchCost(
  bench: GpuBench,
  { counter, record }: Chain,
  latencyMs: number,
  rates: Rates,
): Promise<{ outcome: Outcome; encodeMs?: Measurement; gpuMs?: Measurement }> {
  const encodes: number[] = [];
  const onGpu: number[] = [];
  const unit = 128;
  const lost = { dispatches: 0 };
  const outcome = await measureRate(
    async (units) => {
      const count = units * unit;
      bench.device.queue.writeBuffer(counter, 0, new Uint32Array(1));
      const { totalMs, encodeMs, gpuMs, word } = await bench.time((pass) => record(pass, count), counter);
      lost.dispatches += count - word;
      encodes.push(encodeMs / count);
      if (gpuMs !== undefined) onGpu.push(gpuMs / count);
      return totalMs - latencyMs;
    },
    { ...rates, mostUnits: 64 },
  );
  if (lost.dispatches !== 0) return { outcome: { reason: 'The GPU did not run all dispatches of a chain' } };
  if (!('measurement' in outcome)) return { outcome };
  const { value, spread, n } = outcome.measurement;
  const costMs = 1 / (value * unit);
  // The last ones are the repeats; those before were to find the length.
  const gpuMs = onGpu.length >= n ? measurementOf(onGpu.slice(-n)) : undefined;
  return {
    outcome: { measurement: { value: costMs, spread, n } },
    encodeMs: capped(measurementOf(encodes.slice(-n)), costMs),
    // A clock of the GPU that says more than went by is not to be believed.
    ...(gpuMs && gpuMs.value <= costMs && { gpuMs }),
  };
}

const capped = (measurement: Measurement, mostMs: number): Measurement => ({
  ...measurement,
  value: Math.min(measurement.value, mostMs),
});

function languageFeatures(): ReadonlySet<string> {
  const { navigator } = globalThis as { navigator?: { gpu?: GPU } };
  return navigator?.gpu?.wgslLanguageFeatures ?? new Set();
}
