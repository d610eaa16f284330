import type { StepTrace } from '../../shared/trace.ts';

/** What a device can do at best: measured by the probe, or from a data sheet. */
export interface RooflinePeaks {
  /** Memory bandwidth, bytes/s. */
  bytesPerSecond?: number;
  /** Arithmetic, FLOP/s (a multiply-add is two). */
  flopPerSecond?: number;
}

/** What was to be done. */
export interface Work {
  bytes?: number;
  flop?: number;
}

/** Work of a step, and whether it was counted by the backend or is estimated from the model's size. */
export interface StepWork extends Work {
  bytesAreEstimated: boolean;
  flopAreEstimated: boolean;
}

/** Sizes of a model that stand in where a backend counts nothing; the fields of `ModelInfo`. */
export interface ModelSize {
  weightBytes: number;
  kvBytesPerToken: number;
  parameters: number;
}

/**
 * Place of a piece of work under the roof of a device. Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for
 * multicore architectures", CACM 52 (4), 2009: time >= max(FLOP / peak FLOP/s, bytes / peak B/s).
 */
export interface Roofline {
  /** Arithmetic intensity, FLOP/byte; absent if either is not known. */
  intensity?: number;
  /** Intensity at which the device's two limits meet, FLOP/byte: below it memory decides, above it arithmetic. */
  ridge?: number;
  /** bytes / peak B/s, ms. */
  memoryMs?: number;
  /** FLOP / peak FLOP/s, ms. */
  computeMs?: number;
  /** The larger of the two that are known: no program is faster. */
  floorMs?: number;
  boundBy?: 'memory' | 'compute';
  /** bytes / time, GB/s (10^9). */
  achievedGBps?: number;
  /** FLOP / time, GFLOP/s. */
  achievedGflops?: number;
  /** Floor / time: 1 is at the roof. Above 1 the peak was measured too low for this work (weights that fit a cache). */
  shareOfFloor?: number;
}

/** @param ms measured time of the work; what needs it is absent without it, and for a time of 0 */
export function roofline({ bytes, flop }: Work, peaks: RooflinePeaks, ms?: number): Roofline {
  const { bytesPerSecond, flopPerSecond } = peaks;
  const memoryMs = quotient(bytes, bytesPerSecond, 1000);
  const computeMs = quotient(flop, flopPerSecond, 1000);
  const known = memoryMs !== undefined || computeMs !== undefined;
  const floorMs = known ? Math.max(memoryMs ?? 0, computeMs ?? 0) : undefined;
  return {
    ...present('intensity', quotient(flop, bytes)),
    ...present('ridge', quotient(flopPerSecond, bytesPerSecond)),
    ...present('memoryMs', memoryMs),
    ...present('computeMs', computeMs),
    ...present('floorMs', floorMs),
    ...(known && { boundBy: (memoryMs ?? 0) >= (computeMs ?? 0) ? ('memory' as const) : ('compute' as const) }),
    ...present('achievedGBps', quotient(bytes, ms, 1e-6)),
    ...present('achievedGflops', quotient(flop, ms, 1e-6)),
    ...present('shareOfFloor', quotient(floorMs, ms)),
  };
}

/** The roof over an arithmetic intensity, FLOP/s: what a chart draws as ceiling. Absent if neither peak is known. */
export function attainableFlopPerSecond(intensity: number, peaks: RooflinePeaks): number | undefined {
  const { bytesPerSecond, flopPerSecond } = peaks;
  if (bytesPerSecond === undefined) return flopPerSecond;
  const slope = intensity * bytesPerSecond;
  return flopPerSecond === undefined ? slope : Math.min(slope, flopPerSecond);
}

/**
 * What a step did: as its backend counted it, else (onnxruntime-web) from the model's size: all weights and the KV of every sequence read
 * once, and two FLOP per parameter and token (Kaplan et al., "Scaling laws for neural language models", 2020, section 2.1; attention left out).
 */
export function stepWork(
  step: Pick<StepTrace, 'bytes' | 'flop' | 'batch' | 'tokens' | 'contextTokens'>,
  model?: ModelSize,
): StepWork {
  const { bytes, flop, batch, tokens, contextTokens } = step;
  const counted = bytes && bytes.weights + bytes.kv + bytes.activations;
  const estimatedBytes = model && model.weightBytes + batch * contextTokens * model.kvBytesPerToken;
  return {
    ...present('bytes', counted ?? estimatedBytes),
    ...present('flop', flop ?? (model && 2 * model.parameters * tokens)),
    bytesAreEstimated: counted === undefined && estimatedBytes !== undefined,
    flopAreEstimated: flop === undefined && model !== undefined,
  };
}

function quotient(a: number | undefined, b: number | undefined, factor = 1): number | undefined {
  return a === undefined || b === undefined || !(b > 0) ? undefined : (a / b) * factor;
}

/** An object with the field, or without it where the value is absent. */
function present<Name extends string>(name: Name, value: number | undefined): { [Key in Name]?: number } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: number });
}
