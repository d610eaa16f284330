import { systemClock, type Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { AdapterInfo } from '../../../shared/info.ts';
import { BUSY_KERNELS, BusyPass } from './busy-pass.ts';
import { measurementOf, PROBE_SCHEMA, type DeviceProbe, type Measurement, type ProbeField } from './device-probe.ts';
import dotCode from './dot-int8.wgsl?raw';
import f16Code from './flop-f16.wgsl?raw';
import f32Code from './flop-f32.wgsl?raw';
import { GpuBench, USAGE, type Rounds } from './gpu-bench.ts';
import { createProbeKernels, type Chain, type ProbeKernels, type StreamRead } from './probe-kernels.ts';
import { measureRate, scaled, type Outcome } from './repeat.ts';
import { timerResolutionMs, tooCoarse } from './timer.ts';

export interface GpuProbeOptions {
  /** Goes into the result. On a software adapter less memory is read. */
  adapter?: AdapterInfo;
  clock?: Clock;
  /** Bytes to read at most; caches smaller than that do not help. @default 256 MiB, 64 MiB on a software adapter */
  bufferBytes?: number;
  /**
   * Of the device's, to measure with; they are left as they are, and `bufferBytes` does not count. The same kernel compiled twice need not be
   * equally fast: on a software adapter by a factor of 1.8.
   */
  kernels?: ProbeKernels;
  /** A repeat takes about this long, ms; there are some thirty. @default 25 */
  targetMs?: number;
  /** WGSL language features. @default those of `navigator.gpu` */
  languageFeatures?: ReadonlySet<string>;
}

const MIB = 2 ** 20;
const THREADS = 256;
/** Dispatches that are added after each kernel of a busy pass. */
const ADDED = 8;
const PACKED_DOT = 'packed_4x8_integer_dot_product';

/**
 * Measures a GPU through WebGPU, in one to two seconds: memory bandwidth, arithmetic, the cost of a dispatch, and the way back to the CPU. The
 * device is the caller's, should be idle, and is left as it was.
 *
 * Times are of the wall clock, and of what commands add to a pass that keeps the device busy; timestamps tell only the
 * GPU's share of a dispatch. Nothing is given that the clock is too coarse for.
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
    const bufferBytes = options.bufferBytes ?? (isSoftware ? 64 : 256) * MIB;
    const { chain, read } = options.kernels ?? (await createProbeKernels(bench, bufferBytes));
    const readbackMs = take('readbackMs', await readbackLatency(bench, chain, resolutionMs));
    const busy = await BusyPass.create(bench);
    const readBytesPerSecond = take('readBytesPerSecond', await readRate(busy, read, rates));
    if (!options.kernels && read) bench.free(read.data);

    const groups = isSoftware ? 64 : 2048;
    const flopPerSecond: DeviceProbe['flopPerSecond'] = {};
    const flops = async (format: 'f32' | 'f16' | 'int8', code: string, perThread: number): Promise<void> => {
      const outcome = await arithmeticRate(bench, busy, `flop ${format}`, code, groups, rates);
      const measured = take(`flopPerSecond.${format}`, outcome);
      if (measured) flopPerSecond[format] = scaled(measured, perThread * groups * THREADS * 1000);
    };
    await flops('f32', f32Code, 2048);
    if (device.features.has('shader-f16')) await flops('f16', f16Code, 2048);
    else absent['flopPerSecond.f16'] = 'This device has no shader-f16';
    const features = options.languageFeatures ?? languageFeatures();
    if (features.has(PACKED_DOT)) await flops('int8', dotCode, 8192);
    else absent['flopPerSecond.int8'] = 'This browser has no packed dot product of INT8';

    const dispatch = await dispatchCost(busy, chain, rates);
    const dispatchMs = take('dispatchMs', dispatch.outcome);
    if (!dispatch.gpuMs) absent.dispatchGpuMs = 'This device gives no usable timestamps';
    return {
      schema: PROBE_SCHEMA,
      device: 'gpu',
      ...(adapter && { adapter }),
      measuredAtMs,
      tookMs: clock.now() - measuredAtMs,
      timerResolutionMs: resolutionMs,
      bufferBytes: read?.bytes ?? 0,
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

/** From submit to result. */
async function readbackLatency(bench: GpuBench, { counter, record }: Chain, resolutionMs: number): Promise<Outcome> {
  const samples: number[] = [];
  for (let i = 0; i < 12; i++) {
    const { waitMs } = await bench.time((pass) => record(pass, 1), counter);
    if (i >= 3) samples.push(waitMs);
  }
  const measurement = measurementOf(samples);
  const reason = tooCoarse(measurement.value, resolutionMs);
  return reason === undefined ? { measurement } : { reason };
}

/** Bytes per second. */
async function readRate(busy: BusyPass, read: StreamRead | undefined, rates: Rates): Promise<Outcome> {
  if (!read) return { reason: 'There is too little memory left to read from' };
  const outcome = await roundsPerMs(busy, read.rounds, read.record, read.sums, rates);
  return 'measurement' in outcome ? { measurement: scaled(outcome.measurement, read.bytes * 1000) } : outcome;
}

/** Rounds per ms. */
async function arithmeticRate(
  bench: GpuBench,
  busy: BusyPass,
  label: string,
  code: string,
  groups: number,
  rates: Rates,
): Promise<Outcome> {
  const out = await bench.buffer(label, groups * THREADS * 4, USAGE.storage | USAGE.copySrc);
  const rounds = bench.createRounds(label);
  const kernel = await bench.kernel(label, code, [rounds.buffer, out]);
  const outcome = await roundsPerMs(busy, rounds, (pass) => GpuBench.record(pass, kernel, groups), out, rates);
  bench.free(out);
  return outcome;
}

/** Of a kernel behind those of a busy pass. */
const roundsPerMs = (
  busy: BusyPass,
  rounds: Rounds,
  record: (pass: GPUComputePassEncoder) => void,
  result: GPUBuffer,
  rates: Rates,
): Promise<Outcome> =>
  measureRate(async (count) => {
    rounds.set(count);
    const { totalMs } = await busy.added((pass, kernelsLeft) => {
      if (kernelsLeft === 0) record(pass);
    }, result);
    return totalMs;
  }, rates);

/** What a dispatch adds to a busy pass. */
async function dispatchCost(
  busy: BusyPass,
  { counter, record }: Chain,
  rates: Rates,
): Promise<{ outcome: Outcome; encodeMs?: Measurement; gpuMs?: Measurement }> {
  const encodes: number[] = [];
  const onGpu: number[] = [];
  const perPass = BUSY_KERNELS * ADDED;
  let counted: number | undefined;
  let lost = 0;
  const outcome = await measureRate(
    async (passes) => {
      const sum = { totalMs: 0, encodeMs: 0, gpuMs: 0 };
      for (let i = 0; i < passes; i++) {
        const { totalMs, encodeMs, gpuMs = NaN, word } = await busy.added((pass) => record(pass, ADDED), counter);
        if (counted !== undefined) lost += perPass - ((word - counted) >>> 0);
        counted = word;
        sum.totalMs += totalMs;
        sum.encodeMs += encodeMs;
        sum.gpuMs += gpuMs;
      }
      encodes.push(sum.encodeMs / (passes * perPass));
      onGpu.push(sum.gpuMs / (passes * perPass));
      return sum.totalMs;
    },
    { ...rates, mostUnits: 64 },
  );
  if (lost !== 0) return { outcome: { reason: 'The GPU did not run all dispatches of a chain' } };
  if (!('measurement' in outcome)) return { outcome };
  const { value, spread, n } = outcome.measurement;
  const costMs = 1 / (value * perPass);
  // The last ones are the repeats; those before were to find the length.
  const gpuMs = measurementOf(onGpu.slice(-n));
  return {
    outcome: { measurement: { value: costMs, spread, n } },
    encodeMs: capped(measurementOf(encodes.slice(-n)), costMs),
    // A clock of the GPU that says more than went by is not to be believed; the sum of none is NaN.
    ...(gpuMs.value > 0 && gpuMs.value <= costMs && { gpuMs }),
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
