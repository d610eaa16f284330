import type { AdapterInfo } from '../../../shared/info.ts';
import type { ArithmeticFormat } from '../devices.ts';
import type { DevicePeaks } from '../step-split.ts';

/** The median of repeats. */
export interface Measurement {
  value: number;
  /** (max - min) / median of the repeats: 0.1 is 10 %. */
  spread: number;
  /** Repeats. */
  n: number;
}

/** Names of what is measured; `absent` gives a reason by these. */
export type ProbeField =
  | 'readBytesPerSecond'
  | 'flopPerSecond.f32'
  | 'flopPerSecond.f16'
  | 'flopPerSecond.int8'
  | 'dispatchMs'
  | 'dispatchGpuMs'
  | 'readbackMs';

/** Changes with how things are measured: what was measured in another way is not to be mixed with this. */
export const PROBE_SCHEMA = 'tokenglass.probe/2';

/** What a device can do, measured in this browser. A number that could not be had honestly is absent, and `absent` says why. */
export interface DeviceProbe {
  schema: typeof PROBE_SCHEMA;
  device: 'gpu' | 'cpu';
  /** Absent for the CPU, and where the caller gave none. */
  adapter?: AdapterInfo;
  /** CPU threads that ran at once; absent for a GPU. */
  threads?: number;
  /** When it was measured (see `Clock`). */
  measuredAtMs: number;
  /** How long measuring took. */
  tookMs: number;
  /** Smallest step of the clock, ms. */
  timerResolutionMs: number;
  /** Size of the buffer that was read, all threads together, bytes: caches smaller than this do not help. */
  bufferBytes: number;
  /** Bandwidth of reading memory in order, bytes/s. */
  readBytesPerSecond?: Measurement;
  /** Multiply-adds without memory, FLOP/s (INT8: packed dot products, OP/s), by shaders or by WASM SIMD; matrix units are out of their reach. */
  flopPerSecond: Partial<Record<ArithmeticFormat, Measurement>>;
  /** One dispatch in a chain, from its encoding to the end of the chain, ms. */
  dispatchMs?: Measurement;
  /** Of it, time on the thread that encodes, ms. */
  dispatchEncodeMs?: Measurement;
  /** Of it, time on the GPU by timestamps, ms. */
  dispatchGpuMs?: Measurement;
  /** From the submit of one tiny dispatch to its result in CPU memory, ms. */
  readbackMs?: Measurement;
  /** Why a field is not there. */
  absent: Partial<Record<ProbeField, string>>;
}

/**
 * The medians, for the roofline and the diagnosis.
 * @param format whose rate is the peak; where it was not measured there is none @default 'f32', which our kernels compute in
 */
export function peaksOf(probe: DeviceProbe, format: ArithmeticFormat = 'f32'): DevicePeaks {
  const peaks: DevicePeaks = {};
  const set = (name: keyof DevicePeaks, measured: Measurement | undefined): void => {
    if (measured) peaks[name] = measured.value;
  };
  set('bytesPerSecond', probe.readBytesPerSecond);
  set('flopPerSecond', probe.flopPerSecond[format]);
  set('dispatchMs', probe.dispatchMs);
  set('dispatchEncodeMs', probe.dispatchEncodeMs);
  set('dispatchGpuMs', probe.dispatchGpuMs);
  set('readbackMs', probe.readbackMs);
  return peaks;
}

/** Median and spread of repeats. @throws RangeError for none */
export function measurementOf(samples: readonly number[]): Measurement {
  if (samples.length === 0) throw new RangeError('Cannot take the median of no samples');
  const sorted = Float64Array.from(samples).sort();
  const middle = sorted.length >> 1;
  const value = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { value, spread: value === 0 ? 0 : (sorted.at(-1)! - sorted[0]!) / value, n: sorted.length };
}
