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
import type { GpuContext } from './device.ts';
import { KV_BLOCK, queriesPerTile } from './kernels/attention/attention.ts';
import { readSampleRecord, type SampleRow } from './kernels/sample/layout.ts';
import type { SampleKernels } from './kernels/sample/sample-kernels.ts';
import type { KvBlocks } from './kv-blocks.ts';
import type { KvMemory } from './kv-memory.ts';
import type { ModelPlan, StepShape } from './plan/model-plan.ts';
import type { StepCosts } from './plan/step-costs.ts';
import type { ReadbackRing } from './readback-ring.ts';
import type { Sequence, Sequences } from './sequences.ts';
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
  writer: StepWriter;
  stepBuffer: GPUBuffer;
  ring: ReadbackRing;
  timer?: StepTimer;
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
    const { gpu, plan, costs, sampler, writer, stepBuffer, ring, timer } = this.#parts;
    const laid = this.#layOut(rows);
    const { shape, step, contexts } = laid;
    writer.write(gpu.device.queue, stepBuffer, shape.rows, shape.tiles);
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
    const cost = costs.of(contexts, shape.samples, rows.length === 1);
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
    return [{ ...step, trace, submittedAtMs }, readback, bytes];
  }

  /** Checks rows, reserves KV, and writes the step's rows, samples and tiles. */
  #layOut(rows: readonly StepRow[]): {
    shape: StepShape;
    step: Omit<StepInFlight, 'trace' | 'submittedAtMs'>;
    contexts: number[];
  } {
    const { sampler, sequences, writer, splitTokens, maxSplits } = this.#parts;
    const taken = this.#takeRows(rows);
    for (const { sequence, count } of taken) sequences.reserve(sequence, count);

    const contexts: number[] = [];
    const samples: SampleRow[] = [];
    const records: (number | undefined)[] = taken.map(() => undefined);
    const tileRows = queriesPerTile(this.info.model.headDim);
    // Sequences with one token each come first: their attention is that of a decode step, whatever else is in the step.
    const singles = taken.filter(({ count }) => count === 1);
    let tiles = 0;
    let at = 0;
    for (const { row, sequence, count, index } of [...singles, ...taken.filter((one) => one.count > 1)]) {
      const { slot, length } = sequence;
      const { input } = row;
      for (let i = 0; i < count; i++) {
        writer.setRow(at + i, { token: input === 'previous' ? 'previous' : input[i]!, position: length + i, slot });
        contexts.push(length + i + 1);
      }
      for (let i = 0; count > 1 && i < count; i += tileRows)
        writer.setTile(tiles++, at + i, Math.min(tileRows, count - i));
      at += count;
      sequence.length += count;
      if (row.sample === 'each' && input !== 'previous') {
        records[index] = samples.length;
        for (let i = 0; i < count; i++) {
          const followed = i + 1 < count;
          const sample = { slot, position: length + i + 1, sample: true, append: input[i]!, depth: i, followed };
          writer.setSample(samples.length, at - count + i, sample);
          samples.push(sample);
        }
        sequence.hasSampled = true;
        continue;
      }
      const append = row.isPrompt || count > 1 ? undefined : input === 'previous' ? input : input[0]!;
      if (append === undefined && input !== 'previous') sampler.appendTokens(slot, length, input, row.isPrompt);
      // A row that only appends an output token has to be counted for penalties, and is laid out as a sample that is dropped.
      if (row.sample || append !== undefined) {
        const sample: SampleRow = {
          slot,
          position: sequence.length,
          sample: row.sample !== false,
          ...(append !== undefined && { append }),
          masked: row.mask !== undefined,
        };
        // Before the step's submit, and no earlier step of the sequence is in flight that would see it.
        if (row.mask) sampler.writeMask(slot, row.mask);
        writer.setSample(samples.length, at - 1, sample);
        if (row.sample) records[index] = samples.length;
        samples.push(sample);
        sequence.hasSampled ||= row.sample !== false;
      }
    }
    const longest = Math.max(1, ...contexts.slice(0, singles.length));
    const split = longest <= splitTokens ? longest : this.#splitLength(longest, maxSplits);
    // Splits begin at a block of 32 that the window begins in, so one more may be needed than the context has.
    const aligned = Math.ceil(split / KV_BLOCK) * KV_BLOCK;
    const splits = longest <= splitTokens ? 1 : Math.ceil(longest / aligned);
    writer.setHeader(at, aligned, splits, singles.length);
    const logprobs = taken.map(({ sequence }) => sequence.logprobs);
    const shape: StepShape = {
      rows: at,
      singles: singles.length,
      splits,
      tiles,
      samples: samples.length,
      variant: sampler.variantOf(samples),
    };
    return { shape, step: { rows, records, logprobs }, contexts };
  }

  #splitLength(context: number, maxSplits: number): number {
    const { splitTokens } = this.#parts;
    const part = splitTokens / 2;
    return Math.max(part, Math.ceil(context / maxSplits / part) * part);
  }

  #takeRows(rows: readonly StepRow[]): { row: StepRow; sequence: Sequence; count: number; index: number }[] {
    const { maxBatch, maxStepTokens } = this.info.capabilities;
    if (rows.length === 0 || rows.length > maxBatch) {
      throw new RangeError(`Cannot run a step of ${rows.length} rows: give 1 to ${maxBatch}`);
    }
    const seen = new Set<SequenceId>();
    const taken = rows.map((row, index) => {
      const sequence = this.#parts.sequences.get(row.sequence);
      if (seen.has(row.sequence)) throw new RangeError(`Cannot run a step: sequence ${row.sequence} has two rows`);
      seen.add(row.sequence);
      if (row.input === 'previous' && !sequence.hasSampled) {
        throw new RangeError(`Cannot continue sequence ${row.sequence}: it has sampled no token yet`);
      }
      const count = row.input === 'previous' ? 1 : row.input.length;
      if (count === 0) throw new RangeError(`Cannot run a step: sequence ${row.sequence} has no input`);
      if (row.input !== 'previous') this.#checkIds(row.input);
      if (row.sample === 'each' && (row.input === 'previous' || row.isPrompt || row.mask))
        throw new RangeError(
          `Cannot sample each token of sequence ${row.sequence}: give ids that are no prompt, and no mask`,
        );
      return { row, sequence, count, index };
    });
    const tokens = taken.reduce((sum, { count }) => sum + count, 0);
    if (tokens > maxStepTokens) {
      throw new RangeError(`Cannot run a step of ${tokens} tokens: give at most ${maxStepTokens}`);
    }
    this.#checkSamples(rows);
    return taken;
  }

  #checkSamples(rows: readonly StepRow[]): void {
    const { maxVerifyTokens } = this.info.capabilities;
    if (rows.every(({ sample }) => sample !== 'each')) return;
    const samples = rows.reduce(
      (sum, { sample, input }) => sum + (sample === 'each' ? input.length : sample ? 1 : 0),
      0,
    );
    if (samples > maxVerifyTokens)
      throw new RangeError(`Cannot sample ${samples} tokens in a step: give at most ${maxVerifyTokens}`);
  }

  #checkIds(ids: readonly number[]): void {
    const { vocabSize } = this.info.model;
    for (const id of ids) {
      if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) {
        throw new RangeError(`Cannot take token ${id}: ids are whole numbers below ${vocabSize}`);
      }
    }
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
    const gpuMs = timer && StepTimer.milliseconds(result, bytes - TIMER_BYTES);
    const timing: StepTiming = {
      ...step.trace.timing,
      totalMs: now - step.trace.startedAtMs,
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
