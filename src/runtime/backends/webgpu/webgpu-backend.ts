import { TokenglassError } from '../../../shared/errors.ts';
import { systemClock, type Clock } from '../../../shared/clock.ts';
import type { StepTiming, StepTrace } from '../../../shared/trace.ts';
import type {
  Backend,
  BackendInfo,
  BackendKv,
  SampledToken,
  SequenceId,
  SequenceOptions,
  StepResult,
  StepRow,
  StepRowResult,
} from '../backend.ts';
import { checkRows, type CheckedRow } from '../check-rows.ts';
import type { GpuContext } from './device.ts';
import { readSampleRecord } from './kernels/sample/layout.ts';
import type { SampleKernels } from './kernels/sample/sample-kernels.ts';
import type { KvBlocks } from '../kv/kv-blocks.ts';
import type { KvMemory } from './kv-memory.ts';
import type { LayerRows } from './layer-rows.ts';
import { packRows } from './pack-rows.ts';
import type { ModelPlan } from './plan/model-plan.ts';
import type { StepCosts } from './plan/step-costs.ts';
import type { ReadbackRing } from './readback-ring.ts';
import type { Sequences } from '../kv/sequences.ts';
import type { States } from './states.ts';
import type { StepWriter } from './step-layout.ts';
import { StepTimer, TIMER_BYTES } from './step-timer.ts';
import { WebGpuKv } from './webgpu-kv.ts';

/** What a backend is made of; `createWebGpuBackend` makes it. */
export interface WebGpuParts {
  gpu: GpuContext;
  info: BackendInfo;
  plan: ModelPlan;
  costs: StepCosts;
  sampler: SampleKernels;
  sequences: Sequences;
  blocks: KvBlocks;
  kvMemory: KvMemory;
  /** {@link BackendKv.format} */
  kvFormat: string;
  /** Absent in a model without state that is no KV. */
  states?: States;
  statePages?: KvBlocks;
  stateMemory?: KvMemory;
  /** Ids of each slot's sequence by position, with such state. */
  history?: GPUBuffer;
  /** Sends what tokens have for each layer, in a model with such a table. */
  layerRows?: LayerRows;
  writer: StepWriter;
  stepBuffer: GPUBuffer;
  ring: ReadbackRing;
  timer?: StepTimer;
  /** Rows of an attention tile. */
  tileRows: number;
  /** Tokens of context from which on attention is split, and tokens of a split. */
  splitTokens: number;
  maxSplits: number;
  clock?: Clock;
}

/** A step on its way: what is needed to make a result of what comes back. */
interface StepInFlight {
  rows: readonly StepRow[];
  /** Index of each row's record, the first one of a row with several; undefined where nothing was sampled. */
  records: readonly (number | undefined)[];
  logprobs: readonly number[];
  trace: StepTrace;
  submittedAtMs: number;
}

/** Our own WGSL runtime as a {@link Backend}. */
export class WebGpuBackend implements Backend {
  readonly info: BackendInfo;
  readonly lost: Promise<Error>;
  readonly kv: BackendKv;
  readonly #parts: WebGpuParts;
  readonly #clock: Clock;
  readonly #pending = new Set<Promise<unknown>>();
  #failure: Error | undefined;
  #disposing: Promise<void> | undefined;

  constructor(parts: WebGpuParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.kv = new WebGpuKv(parts, () => this.#check());
    this.#clock = parts.clock ?? systemClock;
    this.lost = parts.gpu.lost.then((error) => {
      this.#failure ??= error;
      return error;
    });
  }

  /** Bytes of the GPU buffers that live now; 0 once disposed of. */
  get liveGpuBytes(): number {
    return this.#parts.gpu.memory.bytes;
  }

  openSequence(options: SequenceOptions): SequenceId {
    this.#check();
    const { logprobs: most } = this.info.capabilities;
    if (options.logprobs > most) {
      throw new TokenglassError(
        'unsupported',
        `Cannot give ${options.logprobs} log-probabilities: ${most} is the most`,
      );
    }
    const sequence = this.#parts.sequences.open(options);
    try {
      this.#parts.sampler.openSlot(sequence.slot, options.sampling, options.logprobs);
    } catch (error) {
      this.#parts.sequences.close(sequence.id);
      throw error;
    }
    return sequence.id;
  }

  closeSequence(sequence: SequenceId): void {
    this.#parts.sequences.close(sequence);
  }

  truncate(id: SequenceId, length: number): void {
    const sequence = this.#parts.sequences.get(id);
    const from = sequence.length;
    this.#parts.sequences.truncate(sequence, length);
    if (!this.#failure) this.#parts.sampler.truncate(sequence.slot, length, from);
  }

  sequenceLength(sequence: SequenceId): number {
    return this.#parts.sequences.get(sequence).length;
  }

  reserveKv(sequence: SequenceId, tokens: number): boolean {
    this.#check();
    const { sequences } = this.#parts;
    return sequences.tryReserve(sequences.get(sequence), tokens);
  }

  async step(rows: readonly StepRow[]): Promise<StepResult> {
    this.#check();
    const startedAtMs = this.#clock.now();
    const { runAhead } = this.info.capabilities;
    if (this.#pending.size >= runAhead) {
      throw new RangeError(`Cannot run a step: ${runAhead} are in flight; await one first`);
    }
    // No await before the submit: steps run in the order of the calls.
    const result = this.#finish(...this.#submit(rows, startedAtMs));
    this.#pending.add(result);
    try {
      return await result;
    } finally {
      this.#pending.delete(result);
    }
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    await Promise.allSettled([...this.#pending]);
    this.#failure ??= new TokenglassError(
      'disposed',
      'Cannot use the backend: it was disposed of; load the model again',
    );
    this.#parts.gpu.destroy();
  }

  #check(): void {
    if (this.#disposing) {
      throw new TokenglassError('disposed', 'Cannot use the backend: it was disposed of; load the model again');
    }
    if (this.#failure) throw this.#failure;
  }

  #submit(rows: readonly StepRow[], startedAtMs: number): [StepInFlight, GPUBuffer, number] {
    const { gpu, plan, costs, sampler, sequences, writer, stepBuffer, ring, timer } = this.#parts;
    const checked = checkRows(rows, sequences, this.info);
    for (const { sequence, count } of checked) sequences.reserve(sequence, count);
    this.#planStates(checked);
    const { shape, records, tokens, contexts } = packRows(checked, this.#parts);
    writer.write(gpu.device.queue, stepBuffer, shape);
    this.#parts.layerRows?.write(gpu.device.queue, tokens);
    const encoder = gpu.device.createCommandEncoder({ label: 'step' });
    const pass = encoder.beginComputePass({ label: 'step', ...(timer && { timestampWrites: timer.writes }) });
    const dispatches = plan.record(pass, shape);
    pass.end();
    const recordBytes = shape.samples * sampler.recordBytes;
    const readback = ring.take();
    if (recordBytes > 0) encoder.copyBufferToBuffer(sampler.records, 0, readback, 0, recordBytes);
    timer?.copyTo(encoder, readback, recordBytes);
    const commands = encoder.finish();
    const encodedAtMs = this.#clock.now();
    gpu.device.queue.submit([commands]);
    const submittedAtMs = this.#clock.now();
    const lengths = checked.map(({ sequence }) => sequence.length);
    const cost = costs.of(contexts, shape.samples, lengths);
    const trace: StepTrace = {
      kind: rows.every((row) => !row.isPrompt) ? 'decode' : 'prefill',
      startedAtMs,
      timing: { totalMs: 0, encodeMs: encodedAtMs - startedAtMs, submitMs: submittedAtMs - encodedAtMs },
      batch: rows.length,
      tokens: shape.rows,
      contextTokens: Math.max(0, ...contexts),
      bytes: cost.bytes,
      flop: cost.flop,
      dispatches,
    };
    // A step without a sample or timestamps still has something to wait for: that it is done.
    const bytes = Math.max(4, recordBytes + (timer ? TIMER_BYTES : 0));
    const logprobs = checked.map(({ sequence }) => sequence.logprobs);
    return [{ rows, records, logprobs, trace, submittedAtMs }, readback, bytes];
  }

  /** Says of each row where its state comes from. Tokens that have to be run again go with the row where there is room, else in steps of their own. */
  #planStates(rows: readonly CheckedRow[]): void {
    const { states } = this.#parts;
    if (!states) return;
    const { maxStepTokens } = this.info.capabilities;
    let room = maxStepTokens - rows.reduce((sum, { count }) => sum + count, 0);
    for (const checked of rows) {
      const { sequence, count } = checked;
      const own = sequence.states!;
      let again = states.behind(own, sequence.length);
      while (again > room) {
        const replay = Math.min(again, maxStepTokens);
        const state = states.begin(own, sequence.slot, sequence.length - again + replay, replay);
        this.#runAgain({ ...checked, state }, again - replay);
        again -= replay;
      }
      room -= again;
      checked.state = states.begin(own, sequence.slot, sequence.length + count, again);
    }
  }

  /** Runs tokens of a sequence again that it has already, for its state. @param left tokens after them that come later */
  #runAgain(checked: CheckedRow, left: number): void {
    const { gpu, plan, writer, stepBuffer } = this.#parts;
    const { sequence, row } = checked;
    sequence.length -= left;
    const { shape } = packRows([{ ...checked, row: { ...row, input: [], sample: false }, count: 0 }], this.#parts);
    sequence.length += left;
    writer.write(gpu.device.queue, stepBuffer, shape);
    const encoder = gpu.device.createCommandEncoder({ label: 'run again' });
    const pass = encoder.beginComputePass({ label: 'run again' });
    plan.record(pass, shape);
    pass.end();
    gpu.device.queue.submit([encoder.finish()]);
  }

  async #finish(step: StepInFlight, readback: GPUBuffer, bytes: number): Promise<StepResult> {
    const { ring, timer } = this.#parts;
    let result: ArrayBuffer;
    try {
      result = await ring.read(readback, bytes);
    } catch (error) {
      throw await this.#whyUnread(error);
    }
    const now = this.#clock.now();
    const totalMs = now - step.trace.startedAtMs;
    const gpuMs = timer && StepTimer.milliseconds(result, bytes - TIMER_BYTES, totalMs);
    const timing: StepTiming = {
      ...step.trace.timing,
      totalMs,
      readbackMs: Math.max(0, now - step.submittedAtMs - (gpuMs ?? 0)),
      ...(gpuMs !== undefined && { gpuMs }),
    };
    const rows = step.rows.map((row, i): StepRowResult => {
      const record = step.records[i];
      const { sequence } = row;
      if (record === undefined) return { sequence };
      const read = (at: number): SampledToken => {
        const { fault, ...sampled } = readSampleRecord(result, at, step.logprobs[i]!);
        if (fault !== undefined) throw numericFault(fault, sequence);
        this.#parts.sequences.noteSampled(sequence, sampled.token);
        return sampled;
      };
      if (row.sample !== 'each') return { sequence, ...read(record) };
      return { sequence, tokens: Array.from({ length: row.input.length }, (_, index) => read(record + index)) };
    });
    return { rows, trace: { ...step.trace, timing } };
  }

  /** A readback fails when the device is lost; the loss itself is told a moment later. */
  async #whyUnread(error: unknown): Promise<unknown> {
    if (this.#failure) return this.#failure;
    const lost = await Promise.race([this.lost, this.#parts.gpu.device.queue.onSubmittedWorkDone()]).catch(() => error);
    return lost instanceof Error
      ? lost
      : new TokenglassError('device-lost', 'Cannot read the result of a step; load the model again', { cause: error });
  }
}

function numericFault(fault: string, sequence: SequenceId): TokenglassError {
  const what = {
    'not-finite': 'its logits are not finite numbers',
    flat: 'its logits are all the same',
    'all-banned': 'every token is banned',
  }[fault];
  return new TokenglassError(
    'numeric-fault',
    `Cannot sample a token: ${what ?? fault}; the model file or the graphics driver may be broken`,
    { details: { fault, sequence } },
  );
}
