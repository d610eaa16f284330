import type { StepTrace } from '../../../shared/trace.ts';
import type { DevicePeaks } from '../step-split.ts';
import { TraceLog, type RecordedStep } from '../trace-log.ts';

/** A device of round numbers: 100 GB/s, 1 TFLOP/s, 20 us a dispatch (4 on the CPU, 6 on the GPU), 0.5 ms to read back. */
export const ROUND_DEVICE: Required<DevicePeaks> = {
  bytesPerSecond: 100e9,
  flopPerSecond: 1e12,
  dispatchMs: 0.02,
  dispatchEncodeMs: 0.004,
  dispatchGpuMs: 0.006,
  readbackMs: 0.5,
};

/** What a made-up step spends its time on, ms. */
export interface MadeStep {
  kind?: StepTrace['kind'];
  memoryMs?: number;
  computeMs?: number;
  /** Kernels take the floor divided by this. */
  efficiency?: number;
  dispatches?: number;
  /** From the end of the GPU's work to the result. */
  readbackMs?: number;
  /** Work on the CPU within the step, besides recording dispatches. */
  encodeMs?: number;
  sampleMs?: number;
  /** Between this step and the one before. */
  gapMs?: number;
  batch?: number;
  /** Of the bytes, the share that is weights; the rest is KV. */
  weightShare?: number;
  /** No timestamps. */
  untimed?: boolean;
  /** No bytes, FLOP or dispatches, as from onnxruntime-web. */
  uncounted?: boolean;
}

/** The time that a made step takes from the end of the one before, put together from its parts alone. */
export function madeStepMs(step: MadeStep): number {
  const { memoryMs = 0, computeMs = 0, efficiency = 1, dispatches = 0, readbackMs = 0, encodeMs = 0 } = step;
  const { sampleMs = 0, gapMs = 0 } = step;
  const kernelsMs = Math.max(memoryMs, computeMs) / efficiency;
  return gapMs + encodeMs + dispatches * ROUND_DEVICE.dispatchMs + kernelsMs + readbackMs + sampleMs;
}

/** Steps one after the other, as a device of those peaks would time them. */
export function madeSteps(step: MadeStep, count = 8): RecordedStep[] {
  const log = new TraceLog();
  const { memoryMs = 0, computeMs = 0, efficiency = 1, dispatches = 0, readbackMs = 0, encodeMs = 0 } = step;
  const { kind = 'decode', batch = 1, sampleMs, gapMs = 0, weightShare = 1 } = step;
  const { dispatchMs, dispatchEncodeMs, dispatchGpuMs, bytesPerSecond, flopPerSecond } = ROUND_DEVICE;
  const bytes = (memoryMs / 1000) * bytesPerSecond;
  const gpuMs = Math.max(memoryMs, computeMs) / efficiency + dispatches * dispatchGpuMs;
  const driverMs = dispatches * (dispatchMs - dispatchEncodeMs - dispatchGpuMs);
  let atMs = 1000;
  for (let i = 0; i < count; i++) {
    const totalMs = madeStepMs(step) - gapMs;
    log.addStep({
      kind,
      startedAtMs: atMs,
      batch,
      tokens: kind === 'decode' ? batch : 128,
      contextTokens: 200 + i,
      timing: {
        totalMs,
        encodeMs: encodeMs + dispatches * dispatchEncodeMs,
        submitMs: 0,
        // The driver's part of a dispatch is neither on the CPU nor on the GPU; the backend cannot tell it from waiting.
        readbackMs: readbackMs + driverMs + (step.untimed ? gpuMs : 0),
        ...(sampleMs !== undefined && { sampleMs }),
        ...(!step.untimed && { gpuMs }),
      },
      ...(!step.uncounted && {
        bytes: { weights: bytes * weightShare, kv: bytes * (1 - weightShare), activations: 0 },
        flop: (computeMs / 1000) * flopPerSecond,
        dispatches,
      }),
    });
    atMs += totalMs + gapMs;
  }
  // The first has nothing before it, and so no gap.
  return log.steps.slice(1);
}
