import { systemClock, type Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { StepTiming } from '../../../shared/trace.ts';
import type {
  Backend,
  BackendInfo,
  SequenceId,
  SequenceOptions,
  StepResult,
  StepRow,
  StepRowResult,
} from '../backend.ts';
import { MAX_TOP_LOGPROBS } from '../sampling/definition.ts';
import { createSampler, type Sampler } from '../sampling/sampler.ts';
import type { DeviceGuard } from './device-guard.ts';
import { disposeKv, downloadKv, joinKv, kvLength, sliceKv, type KvBlock } from './kv-tensors.ts';
import { OnnxKv } from './onnx-kv.ts';
import type { OnnxSession } from './onnx-session.ts';
import { OnnxSequence } from './onnx-sequence.ts';
import type { OrtRuntime } from './ort-runtime.ts';

/** What `createOnnxBackend` has made and checked. */
export interface OnnxBackendParts {
  runtime: OrtRuntime;
  session: OnnxSession;
  guard: DeviceGuard;
  info: BackendInfo;
  /** The device that computes; absent on WASM. Belongs to the session. */
  device?: GPUDevice;
  clock?: Clock;
}

/** A row whose place in its sequence is fixed: rows are planned when `step` is called, and run later. */
interface PlannedRow {
  row: StepRow;
  sequence: OnnxSequence;
  tokens: number;
}

/** ONNX models in onnxruntime-web. One step at a time; rows of several sequences in a step run one after another. */
export class OnnxBackend implements Backend {
  readonly info: BackendInfo;
  readonly kv: OnnxKv;
  readonly #parts: OnnxBackendParts;
  readonly #clock: Clock;
  readonly #sampler: Sampler;
  readonly #sequences = new Map<SequenceId, OnnxSequence>();
  readonly #stopListening: () => void;
  #nextId: SequenceId = 1;
  #disposing: Promise<void> | undefined;

  constructor(parts: OnnxBackendParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.kv = new OnnxKv(this, parts.session.layout);
    this.#clock = parts.clock ?? systemClock;
    this.#sampler = createSampler(parts.session.vocabSize);
    this.#stopListening = parts.runtime.onStuck((error) => parts.guard.lose(error));
  }

  get lost(): Promise<Error> {
    return this.#parts.guard.lost;
  }

  openSequence(options: SequenceOptions): SequenceId {
    this.#assertUsable();
    if (options.logprobs > MAX_TOP_LOGPROBS) {
      const message = `Cannot open a sequence: ${options.logprobs} log-probabilities are asked for; at most ${MAX_TOP_LOGPROBS} are given`;
      throw new TokenglassError('unsupported', message, { details: { field: 'logprobs' } });
    }
    const id = this.#nextId++;
    this.#sequences.set(id, new OnnxSequence(options));
    return id;
  }

  closeSequence(id: SequenceId): void {
    const sequence = this.#sequences.get(id);
    if (!sequence) return;
    this.#sequences.delete(id);
    this.#inOrder(() => {
      disposeKv(sequence.kv);
      sequence.kv = [];
    });
  }

  sequenceLength(id: SequenceId): number {
    return this.#sequence(id).plannedLength;
  }

  truncate(id: SequenceId, length: number): void {
    const sequence = this.#sequence(id);
    if (!(Number.isInteger(length) && length >= 0 && length <= sequence.plannedLength))
      throw new RangeError(`Cannot truncate to ${length} tokens: the sequence has ${sequence.plannedLength}`);
    sequence.plannedLength = length;
    // The tensors are cut when the sequence is next used; most often it is closed before.
    this.#inOrder(() => sequence.truncate(length));
  }

  async step(rows: readonly StepRow[]): Promise<StepResult> {
    this.#assertUsable();
    const planned = this.#plan(rows);
    const { runtime, guard } = this.#parts;
    return guard.race(runtime.exclusive(() => this.#run(planned)));
  }

  /**
   * KV of the tokens `start` (default 0) to before `end` (default: the length), copied to CPU memory. Waits for the steps already given.
   * @throws RangeError for a range that the sequence does not have
   */
  async exportKv(id: SequenceId, start = 0, end?: number): Promise<KvBlock> {
    this.#assertUsable();
    const sequence = this.#sequence(id);
    const { runtime, guard, session, device } = this.#parts;
    return guard.race(
      runtime.exclusive(async () => {
        this.#cut(sequence);
        const length = sequence.tokens.length;
        const last = end ?? length;
        if (!(start >= 0 && start <= last && last <= length))
          throw new RangeError(`Cannot export KV of ${start} to ${last}: the sequence has ${length} tokens`);
        return guard.call('read KV', () => downloadKv(session.layout, sequence.kv, start, last, device));
      }),
    );
  }

  /**
   * Gives an empty sequence the KV of `tokens` from blocks that follow each other from 0 on; it then goes on as if it had computed
   * them, of which the first `promptTokens` (default: all) as prompt.
   * @throws RangeError if the sequence is not empty, or the blocks have gaps, another layout or another number of tokens
   */
  async importKv(
    id: SequenceId,
    tokens: readonly number[],
    blocks: readonly KvBlock[],
    promptTokens = tokens.length,
  ): Promise<void> {
    this.#assertUsable();
    const sequence = this.#sequence(id);
    const end = blocks.at(-1)?.end ?? 0;
    if (sequence.plannedLength > 0) throw new RangeError('Cannot import KV: the sequence is not empty');
    if (end !== tokens.length)
      throw new RangeError(`Cannot import KV: blocks for ${end} tokens, and ${tokens.length} token ids`);
    const { runtime, guard, session } = this.#parts;
    const kv = joinKv(runtime.ort, session.layout, blocks);
    sequence.plannedLength = tokens.length;
    await guard.race(
      runtime.exclusive(() => {
        sequence.kv = kv;
        for (const [index, token] of tokens.entries()) sequence.append(token, index < promptTokens);
        return Promise.resolve();
      }),
    );
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  #sequence(id: SequenceId): OnnxSequence {
    const sequence = this.#sequences.get(id);
    if (!sequence) throw new RangeError(`Cannot use sequence ${id}: it is not open`);
    return sequence;
  }

  #assertUsable(): void {
    if (this.#disposing) throw new TokenglassError('disposed', 'Cannot go on: the backend was disposed of; load again');
    if (this.#parts.guard.error) throw this.#parts.guard.error;
  }

  /** Runs `work` after the steps already given; it must not fail. */
  #inOrder(work: () => void): void {
    const { runtime, guard } = this.#parts;
    void runtime.exclusive(() => {
      if (!guard.error) work();
      return Promise.resolve();
    });
  }

  /** Checks all rows before any of them changes its sequence. */
  #plan(rows: readonly StepRow[]): PlannedRow[] {
    const { maxStepTokens } = this.info.capabilities;
    const { contextTokens, vocabSize } = this.info.model;
    const lengths = new Map<OnnxSequence, number>();
    let total = 0;
    const planned = rows.map((row) => {
      const sequence = this.#sequence(row.sequence);
      const tokens = row.input === 'previous' ? 1 : row.input.length;
      const valid =
        row.input === 'previous' || row.input.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize);
      if (tokens === 0 || !valid)
        throw new RangeError(`Cannot run a step: give at least one token id, each from 0 to ${vocabSize - 1}`);
      const length = (lengths.get(sequence) ?? sequence.plannedLength) + tokens;
      if (length > contextTokens) {
        const message = `Cannot run a step: the sequence would have ${length} tokens, and the context holds ${contextTokens}; shorten it`;
        throw new TokenglassError('context-overflow', message, { details: { tokens: length, contextTokens } });
      }
      lengths.set(sequence, length);
      total += tokens;
      return { row, sequence, tokens };
    });
    if (rows.length === 0 || total > maxStepTokens)
      throw new RangeError(`Cannot run a step of ${total} tokens; give from 1 to ${maxStepTokens}`);
    for (const [sequence, length] of lengths) sequence.plannedLength = length;
    return planned;
  }

  async #run(planned: readonly PlannedRow[]): Promise<StepResult> {
    if (this.#parts.guard.error) throw this.#parts.guard.error;
    const startedAtMs = this.#clock.now();
    const timing: Required<Omit<StepTiming, 'gpuMs'>> = {
      totalMs: 0,
      encodeMs: 0,
      submitMs: 0,
      sampleMs: 0,
      readbackMs: 0,
    };
    const rows: StepRowResult[] = [];
    for (const [index, { row, sequence, tokens }] of planned.entries()) {
      const before = sequence.tokens.length;
      try {
        rows.push(await this.#runRow(row, sequence, timing));
      } catch (error) {
        // What was not computed did not happen.
        if (sequence.tokens.length === before) sequence.plannedLength -= tokens;
        for (const rest of planned.slice(index + 1)) rest.sequence.plannedLength -= rest.tokens;
        throw error;
      }
    }
    timing.totalMs = this.#clock.now() - startedAtMs;
    const { readbackMs, ...onCpu } = timing;
    return {
      rows,
      trace: {
        kind: planned.some(({ row }) => row.isPrompt) ? 'prefill' : 'decode',
        startedAtMs,
        timing: this.#parts.device ? { ...onCpu, readbackMs } : onCpu,
        batch: new Set(planned.map(({ sequence }) => sequence)).size,
        tokens: planned.reduce((sum, { tokens }) => sum + tokens, 0),
        contextTokens: Math.max(...planned.map(({ sequence }) => sequence.tokens.length)),
      },
    };
  }

  async #runRow(
    row: StepRow,
    sequence: OnnxSequence,
    timing: Required<Omit<StepTiming, 'gpuMs'>>,
  ): Promise<StepRowResult> {
    const ids = row.input === 'previous' ? [sequence.previousToken()] : row.input;
    this.#cut(sequence);
    const result = await this.#forward(ids, sequence, row.sample !== false);
    timing.encodeMs += result.timing.encodeMs;
    timing.submitMs += result.timing.submitMs;
    timing.readbackMs += result.timing.readbackMs;
    disposeKv(sequence.kv);
    sequence.kv = result.kv;
    for (const id of ids) sequence.append(id, row.isPrompt);
    if (!result.logits) return { sequence: row.sequence };
    const sampling = this.#clock.now();
    const sampled = this.#sampler.sample({
      logits: result.logits,
      params: sequence.options.sampling,
      counts: sequence.tokens,
      position: sequence.tokens.length,
      logprobs: sequence.options.logprobs,
      ...(row.mask && { mask: row.mask }),
    });
    timing.sampleMs += this.#clock.now() - sampling;
    sequence.sampled = sampled.token;
    return { sequence: row.sequence, ...sampled };
  }

  async #forward(
    ids: readonly number[],
    sequence: OnnxSequence,
    wantLogits: boolean,
  ): ReturnType<OnnxSession['forward']> {
    try {
      return await this.#parts.session.forward(ids, sequence.kv, wantLogits);
    } catch (cause) {
      if (cause instanceof TokenglassError) throw cause;
      const text = cause instanceof Error ? cause.message : String(cause);
      const message = `Cannot compute a step: onnxruntime-web says "${text}"; load the model again`;
      throw new TokenglassError('internal', message, { cause });
    }
  }

  /** Cuts the tensors to the tokens that were not truncated. */
  #cut(sequence: OnnxSequence): void {
    const length = sequence.tokens.length;
    if (kvLength(sequence.kv) <= length) return;
    const { runtime, session, device } = this.#parts;
    const whole = sequence.kv;
    sequence.kv = sliceKv(runtime.ort, session.layout, whole, length, device);
    disposeKv(whole);
  }

  async #dispose(): Promise<void> {
    this.#stopListening();
    this.#inOrder(() => {
      for (const sequence of this.#sequences.values()) disposeKv(sequence.kv);
      this.#sequences.clear();
    });
    await this.#parts.session.release();
  }
}
