import type { StepTrace } from '../../shared/trace.ts';
import { roofline, stepWork, type ModelSize, type Roofline, type RooflinePeaks, type StepWork } from './roofline.ts';
import type { StepWindow } from './step-window.ts';

/** What is known of device and model when steps are diagnosed; whatever is absent leaves its part unexplained. */
export interface DiagnosisContext {
  /** Where steps are computed. On the CPU the call itself computes; on a GPU it is host time. */
  device: 'gpu' | 'cpu';
  /** Measured by the probe. */
  peaks: DevicePeaks;
  /** Stands in where the backend counts no bytes or FLOP (onnxruntime-web). */
  model?: ModelSize;
}

export interface DevicePeaks extends RooflinePeaks {
  /** Cost of one dispatch in a chain, ms, from its encoding to the end of the chain. */
  dispatchMs?: number;
  /** Of {@link dispatchMs}, what is spent on the thread that encodes, ms. */
  dispatchEncodeMs?: number;
  /** Of {@link dispatchMs}, what is spent on the GPU itself, ms; from timestamps. */
  dispatchGpuMs?: number;
  /** From the submit of next to nothing to its result on the CPU, ms. */
  readbackMs?: number;
}

/** Names of the parts, in the order in which they are shown. */
export const STEP_SHARES = ['memory', 'compute', 'dispatch', 'readback', 'host'] as const;
export type StepShare = (typeof STEP_SHARES)[number];

/** Parts of a step's time, ms; a part that cannot be told is absent. With `unexplainedMs` they add up to the whole. */
export type StepParts = Partial<Record<`${StepShare}Ms`, number>>;

/** Where the time of one step went. */
export interface StepSplit {
  /** Time that the step alone accounts for, and the host's before it: what one token waited for. */
  totalMs: number;
  parts: StepParts;
  /** Time that no part explains: kernels below the roof, contention, what was not measured. */
  unexplainedMs: number;
  /** Of it, what the device was busy computing, ms: kernels that do not reach the roof. 0 where that time was not measured. */
  belowRoofMs: number;
  /** Of it, what went by until a result was there, ms, where the device's own time was not measured: computing or waiting. */
  computeOrWaitMs: number;
  /** Of the memory or compute part, what the step did for other sequences of its batch, ms; 0 for a batch of one. */
  batchMs: number;
  work: StepWork;
  /** Against the device's busy time where it was measured, else against the step's. */
  roofline: Roofline;
  /** True if the floor was longer than the time there was: the probe's peaks are too low for this work. */
  fasterThanRoof: boolean;
}

/**
 * Splits the measured time of a step. The host's parts are measured; memory and compute are the floor of the roofline, given to the larger of
 * the two, as they overlap; dispatch is their count times the measured cost; readback is the time neither host nor device was
 * busy where the device's time was measured, and the probe's latency where it was not. What is left is unexplained.
 *
 * Where steps overlap (run-ahead), host work is hidden behind the device as far as that is busy, and only what sticks out counts.
 */
export function splitStep(step: StepTrace, window: StepWindow, context: DiagnosisContext): StepSplit {
  const { peaks, device } = context;
  const { timing } = step;
  const totalMs = window.ownMs + window.gapMs;
  const work = stepWork(step, context.model);
  const floor = roofline(work, peaks);
  const isGpu = device === 'gpu';
  const dispatches = isGpu ? step.dispatches : undefined;
  const dispatchMs = product(dispatches, peaks.dispatchMs);
  const recordMs = (timing.encodeMs ?? 0) + (isGpu ? (timing.submitMs ?? 0) : 0);
  const ownRecordMs = Math.max(0, recordMs - (product(dispatches, peaks.dispatchEncodeMs) ?? 0));
  const hostBusyMs = window.gapMs + (timing.sampleMs ?? 0) + ownRecordMs;
  const gpuMs = isGpu ? timing.gpuMs : undefined;

  const left = new Budget(totalMs);
  const hostFirst = window.overlaps ? 0 : left.take(hostBusyMs);
  // Inside the device's busy time, where that was measured; else all the time there is.
  const busyMs = isGpu ? gpuMs : timing.submitMs;
  const busy = new Budget(left.take(busyMs ?? left.ms));
  const floorMs = busy.take(floor.floorMs ?? 0);
  const onGpuMs = product(dispatches, peaks.dispatchGpuMs);
  let shownDispatchMs = 0;
  if (dispatchMs !== undefined) {
    shownDispatchMs = busy.take(gpuMs === undefined ? dispatchMs : Math.min(dispatchMs, onGpuMs ?? dispatchMs));
    shownDispatchMs += left.take(dispatchMs - shownDispatchMs);
  }
  const from = busyMs === undefined ? busy : left;
  const hostMs = hostFirst + (window.overlaps ? from.take(hostBusyMs) : 0);
  const waitMs = gpuMs === undefined ? waitAtMost(timing.readbackMs, peaks.readbackMs) : from.ms;
  const readbackMs = isGpu && waitMs !== undefined ? from.take(waitMs) : undefined;

  const boundBy = floor.boundBy;
  return {
    totalMs,
    parts: {
      // The limit that is hidden behind the other is known, and costs nothing.
      ...(floor.memoryMs !== undefined && { memoryMs: boundBy === 'memory' ? floorMs : 0 }),
      ...(floor.computeMs !== undefined && { computeMs: boundBy === 'compute' ? floorMs : 0 }),
      ...(dispatchMs !== undefined && { dispatchMs: shownDispatchMs }),
      ...(readbackMs !== undefined && { readbackMs }),
      hostMs,
    },
    unexplainedMs: busy.ms + left.ms,
    belowRoofMs: busyMs === undefined ? 0 : busy.ms,
    computeOrWaitMs: busyMs === undefined && isGpu ? Math.min(busy.ms, timing.readbackMs ?? 0) : 0,
    batchMs: floorMs - floorMs * shareAlone(step, work, peaks, floor),
    work,
    roofline: roofline(work, peaks, gpuMs ?? totalMs),
    fasterThanRoof: floor.floorMs !== undefined && floorMs < floor.floorMs * 0.999,
  };
}

/** Time that is given out until there is none. */
class Budget {
  ms: number;
  constructor(ms: number) {
    this.ms = Math.max(0, ms);
  }
  take(wantedMs: number): number {
    const takenMs = Math.min(Math.max(0, wantedMs), this.ms);
    this.ms -= takenMs;
    return takenMs;
  }
}

/** The floor of one sequence alone, as a share of that of the batch: weights are read once for all, the rest is its own. */
function shareAlone(step: StepTrace, work: StepWork, peaks: RooflinePeaks, floor: Roofline): number {
  if (step.batch < 2 || floor.floorMs === undefined || floor.floorMs <= 0) return 1;
  const { bytes, batch } = step;
  const aloneBytes = bytes ? bytes.weights + (bytes.kv + bytes.activations) / batch : work.bytes;
  const alone = roofline(
    {
      ...(aloneBytes !== undefined && { bytes: aloneBytes }),
      ...(work.flop !== undefined && { flop: work.flop / batch }),
    },
    peaks,
  );
  return Math.min(1, (alone.floorMs ?? 0) / floor.floorMs);
}

/** Without the GPU's time, the wait for a result has the compute in it; the probe says how much of it is not. */
const waitAtMost = (measuredMs: number | undefined, probedMs: number | undefined): number | undefined =>
  probedMs === undefined ? undefined : Math.min(probedMs, measuredMs ?? probedMs);

const product = (count: number | undefined, ms: number | undefined): number | undefined =>
  count === undefined || ms === undefined ? undefined : count * ms;
