import type { StepTrace } from '../../../shared/trace.ts';
import type { Engine } from '../../request/engine.ts';
import { diagnose } from '../../metrics/diagnosis.ts';
import { peaksOf } from '../../metrics/probe/device-probe.ts';
import { probeGpu } from '../../metrics/probe/gpu-probe.ts';
import { percentile } from '../../metrics/percentile.ts';
import { splitStep, type DevicePeaks, type StepShare, type StepSplit } from '../../metrics/step-split.ts';
import { TraceLog, type RecordedStep } from '../../metrics/trace-log.ts';
import { NOT_STARVED, StarvedGpu, type StarvedDevice, type Starving } from '../starved-gpu.ts';
import type { Scenario, ScenarioContext, ScenarioResult } from './scenario.ts';

/** How the engine is starved, and the share that has to show it. */
type Mode = 'plain' | Exclude<StepShare, 'compute'>;
const MODES: readonly Mode[] = ['plain', 'host', 'readback', 'dispatch', 'memory'];

const DISPATCHES = 300;
/** Of the buffer that is read, by the probe and in addition to the weights: more than the caches of most processors hold. */
const READ_BYTES = 128 * 2 ** 20;
/** Steps at the beginning of an answer, of which the first follows a prefill. */
const UNSETTLED_STEPS = 2;

/** A step and the peaks that were measured right before and after its round: a machine that others use is not equally fast all the time. */
interface Step extends RecordedStep {
  peaks: DevicePeaks;
}

interface Measured {
  steps: Record<Mode, Step[]>;
  /** Steps, settled or not, and the time that host delays and waits really took in them, ms. */
  added: Record<Mode, { steps: number; ms: number }>;
  /** Bytes that steps of the `memory` mode read in addition. */
  addedBytes: number;
}

/**
 * Starves a real run of one thing at a time (a busy host, a wait for each result, 300 empty dispatches, more bytes to read) and compares what was
 * added with what the diagnosis says: the named part has to grow by it. One step in flight at a time, as steps that run ahead hide delays.
 *
 * Modes take turns, answer by answer. For host and readback, what was added is known; for dispatch and memory it is what the probe
 * predicts, against how much longer the steps really took.
 *
 * Takes `requests` (answers in each mode, default 5) and `output-tokens` (of each, default 24).
 */
export const diagnosis: Scenario = async (context) => {
  const { engines, options } = context;
  if (engines.some((name) => name !== 'webgpu' && name !== 'auto'))
    throw new RangeError('Cannot starve this engine: the diagnosis scenario runs with --engine webgpu');
  const repeats = Number(options['requests'] ?? 5);
  const outputTokens = Number(options['output-tokens'] ?? 24);
  const gpu = (navigator as { gpu?: GPU }).gpu;
  if (!gpu) throw new RangeError('Cannot starve the engine: this browser has no WebGPU');
  const starved = new StarvedGpu(gpu, READ_BYTES);
  const { createEngine, model } = context;
  const engine = await createEngine({
    model,
    engine: 'webgpu',
    worker: false,
    gpu: starved.gpu,
    prefixCache: false,
    runAhead: 1,
  });
  try {
    const measured = await measure(engine, { context, starved, repeats, outputTokens });
    return resultOf(measured);
  } finally {
    await engine[Symbol.asyncDispose]();
  }
};

/** The engine's own device, with the very kernels and memory that starve it. */
async function probe({ device, kernels }: StarvedDevice): Promise<DevicePeaks> {
  return peaksOf(await probeGpu(device, { kernels }));
}

async function measure(
  engine: Engine,
  wanted: {
    context: ScenarioContext;
    starved: StarvedGpu;
    repeats: number;
    outputTokens: number;
  },
): Promise<Measured> {
  const { context, starved, repeats, outputTokens } = wanted;
  const { device } = starved;
  if (!device) throw new RangeError('Cannot starve the engine: it asked for no device');
  const { readBytes } = device;
  const of = <Value>(make: () => Value): Record<Mode, Value> => ({
    plain: make(),
    host: make(),
    readback: make(),
    dispatch: make(),
    memory: make(),
  });
  const measured: Measured = { steps: of(() => []), added: of(() => ({ steps: 0, ms: 0 })), addedBytes: 0 };
  const answer = async (mode: Mode, starving: Starving): Promise<RecordedStep[]> => {
    context.signal?.throwIfAborted();
    starved.starving = starving;
    starved.addedMs = 0;
    const steps = await stepsOfAnswer(engine, outputTokens, (step) => withAdded(step, starving, readBytes));
    starved.starving = NOT_STARVED;
    measured.added[mode].steps += steps.length + 1; // and the prefill
    measured.added[mode].ms += starved.addedMs;
    return steps.slice(UNSETTLED_STEPS);
  };
  const stepMs = medianStepMs(await answer('plain', NOT_STARVED)) ?? 10;
  let peaks = await probe(device);
  const reads = readsFor(stepMs, readBytes, peaks);
  measured.addedBytes = reads * readBytes;
  const starvings: Record<Mode, Starving> = {
    plain: NOT_STARVED,
    host: { ...NOT_STARVED, hostMs: stepMs / 2 },
    readback: { ...NOT_STARVED, waitMs: Math.max(8, stepMs / 2) }, // browsers round shorter timers up
    dispatch: { ...NOT_STARVED, dispatches: DISPATCHES },
    memory: { ...NOT_STARVED, reads },
  };
  for (let repeat = 0; repeat < repeats; repeat++) {
    const round = of<RecordedStep[]>(() => []);
    for (const [index, mode] of MODES.entries()) {
      round[mode] = await answer(mode, starvings[mode]);
      context.onProgress(repeat * MODES.length + index + 1, repeats * MODES.length);
    }
    const after = await probe(device);
    const around = meanPeaks(peaks, after);
    for (const mode of MODES) measured.steps[mode].push(...round[mode].map((step) => ({ ...step, peaks: around })));
    peaks = after;
  }
  return measured;
}

/** Of what both know. */
function meanPeaks(a: DevicePeaks, b: DevicePeaks): DevicePeaks {
  const names = Object.keys(a) as (keyof DevicePeaks)[];
  return Object.fromEntries(names.flatMap((name) => (b[name] === undefined ? [] : [[name, (a[name]! + b[name]) / 2]])));
}

/** As often as takes about two steps: the start of a read, which the probe's long ones hide, is then a small part. */
function readsFor(stepMs: number, readBytes: number, { bytesPerSecond }: DevicePeaks): number {
  const readMs = bytesPerSecond ? (readBytes / bytesPerSecond) * 1000 : stepMs;
  return Math.max(1, Math.round((2 * stepMs) / readMs));
}

/** The decode steps of one answer, in a log of their own. */
async function stepsOfAnswer(
  engine: Engine,
  outputTokens: number,
  adjusted: (step: StepTrace) => StepTrace,
): Promise<RecordedStep[]> {
  const log = new TraceLog();
  const off = engine.metrics.on('step', (step) => log.addStep(adjusted(step)));
  try {
    const request = { prompt: 'The time to first token is', maxTokens: outputTokens, ignoreEos: true };
    for await (const event of engine.generate({ ...request, sampling: { temperature: 0 } }))
      if (event.type === 'end') break;
  } finally {
    off();
  }
  return log.latestSteps('decode', outputTokens);
}

/** What the engine cannot know that it did. */
function withAdded(step: StepTrace, { dispatches, reads }: Starving, readBytes: number): StepTrace {
  const { bytes } = step;
  return {
    ...step,
    ...(step.dispatches !== undefined && { dispatches: step.dispatches + dispatches }),
    ...(bytes && { bytes: { ...bytes, weights: bytes.weights + reads * readBytes } }),
  };
}

const medianStepMs = (steps: readonly RecordedStep[]): number | undefined =>
  percentile(
    steps.map(({ window }) => window.ownMs + window.gapMs),
    50,
  );

const splitOf = ({ step, window, peaks }: Step): StepSplit => splitStep(step, window, { device: 'gpu', peaks });

function resultOf({ steps, added, addedBytes }: Measured): ScenarioResult {
  // Medians, here: one pause of the system in a mode must not pass for what was added.
  const partMs = (mode: Mode, share: StepShare): number =>
    percentile(
      steps[mode].map((step) => splitOf(step).parts[`${share}Ms`] ?? 0),
      50,
    ) ?? 0;
  const plainMs = medianStepMs(steps.plain) ?? 0;
  const figures: Record<string, number> = { 'plain.stepMs': plainMs, n: steps.plain.length };
  const verdictOf = (mode: Mode): string =>
    diagnose(steps[mode], 'decode', { device: 'gpu', peaks: steps[mode].at(-1)?.peaks ?? {} }).verdict ?? 'none';
  const rows: string[][] = [['nothing', plainMs.toFixed(2), verdictOf('plain'), '', '', '', '']];
  const what: Record<Exclude<Mode, 'plain'>, string> = {
    host: 'a busy host',
    readback: 'a wait for each result',
    dispatch: `${DISPATCHES} dispatches`,
    memory: `${(addedBytes / 1e6).toFixed(0)} MB to read`,
  };
  for (const mode of MODES) {
    if (mode === 'plain') continue;
    const stepMs = medianStepMs(steps[mode]) ?? 0;
    const grewMs = stepMs - plainMs;
    const { ms, steps: count } = added[mode];
    const addedMs = mode === 'host' || mode === 'readback' ? ms / count : grewMs;
    const movedMs = partMs(mode, mode) - partMs('plain', mode);
    Object.assign(figures, {
      [`${mode}.addedMs`]: addedMs,
      [`${mode}.movedMs`]: movedMs,
      [`${mode}.stepGrewMs`]: grewMs,
      [`${mode}.movedToAdded`]: movedMs / addedMs,
    });
    const numbers = [addedMs, grewMs, movedMs, movedMs / addedMs].map((value) => value.toFixed(2));
    rows.push([what[mode], stepMs.toFixed(2), verdictOf(mode), ...numbers]);
  }
  return { figures, table: tableOf(rows, steps.plain.length) };
}

function tableOf(rows: readonly string[][], n: number): string {
  const header =
    '| added to each step | step ms | verdict | added ms | step grew ms | named part grew ms | named / added |';
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`);
  return [header, '|---|--:|---|--:|--:|--:|--:|', ...lines, '', `Medians of ${n} steps each.`].join('\n');
}
