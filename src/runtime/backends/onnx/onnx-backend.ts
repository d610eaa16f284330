import { systemClock, type Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type {
  Backend,
  BackendCapabilities,
  BackendInfo,
  SequenceId,
  SequenceOptions,
  StepResult,
  StepRow,
} from '../backend.ts';
import { checkMask } from '../check-mask.ts';
import { MAX_TOP_LOGPROBS } from '../sampling/definition.ts';
import type { DeviceGuard } from './device-guard.ts';
import { downloadKv, joinKv, type KvBlock } from './kv-block.ts';
import { OnnxKv } from './onnx-kv.ts';
import type { OnnxSession } from './onnx-session.ts';
import { OnnxSequence } from './onnx-sequence.ts';
import type { OrtRuntime } from './ort-runtime.ts';
import { MAX_KV_BYTES, StepRunner, type PlannedRow, type RunTiming } from './step-runner.ts';

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

/** ONNX models in onnxruntime-web. One step at a time, whose decode rows are computed together. */
export class OnnxBackend implements Backend {
  readonly info: BackendInfo;
  readonly kv: OnnxKv;
  readonly #parts: OnnxBackendParts;
  readonly #clock: Clock;
  readonly #runner: StepRunner;
  readonly #sequences = new Map<SequenceId, OnnxSequence>();
  readonly #stopListening: () => void;
  #nextId: SequenceId = 1;
  #disposing: Promise<void> | undefined;

  constructor(parts: OnnxBackendParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.kv = new OnnxKv(this, parts.session.layout);
    this.#clock = parts.clock ?? systemClock;
    this.#runner = new StepRunner({
      ...parts,
      clock: this.#clock,
      weightBytes: parts.info.model.weightBytes,
      maxBatch: parts.info.capabilities.maxBatch,
    });
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
      sequence.kv = undefined;
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
    this.#inOrder(() => sequence.truncate(length));
  }

  /** A ledger only: tensors are made as they are needed, and all sequences together should not need more than one may alone. */
  reserveKv(id: SequenceId, tokens: number): boolean {
    this.#assertUsable();
    const sequence = this.#sequence(id);
    const { contextTokens, kvBytesPerToken } = this.info.model;
    const length = sequence.plannedLength + tokens;
    if (!(Number.isInteger(tokens) && tokens >= 0 && length <= contextTokens))
      throw new RangeError(
        `Cannot set aside ${tokens} tokens of KV: ${length} are more than the context of ${contextTokens}`,
      );
    const room = Math.max(contextTokens, Math.floor(MAX_KV_BYTES / kvBytesPerToken));
    let taken = 0;
    for (const other of this.#sequences.values())
      if (other !== sequence) taken += Math.max(other.reservedLength, other.plannedLength);
    if (taken + length > room) return false;
    sequence.reservedLength = length;
    return true;
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
        const length = sequence.tokens.length;
        const last = end ?? length;
        if (!(start >= 0 && start <= last && last <= length))
          throw new RangeError(`Cannot export KV of ${start} to ${last}: the sequence has ${length} tokens`);
        return guard.call('read KV', () => downloadKv(session.layout, sequence.kv, { start, end: last }, device));
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
    const batch = joinKv(runtime.ort, session.layout, blocks);
    sequence.plannedLength = tokens.length;
    await guard.race(
      runtime.exclusive(() => {
        sequence.kv = batch && { batch, row: 0 };
        for (const [index, token] of tokens.entries()) sequence.tokens.append(token, index < promptTokens);
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
    checkVerification(rows, this.info.capabilities);
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
      checkMask(row.mask, vocabSize);
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
    const timing: RunTiming = { totalMs: 0, encodeMs: 0, submitMs: 0, sampleMs: 0, readbackMs: 0 };
    const sequences = [...new Set(planned.map(({ sequence }) => sequence))];
    const expected = sequences.map((sequence) => sequence.tokens.length + tokensFor(planned, sequence));
    try {
      const rows = await this.#runner.run(planned, timing);
      timing.totalMs = this.#clock.now() - startedAtMs;
      const { readbackMs, ...onCpu } = timing;
      return {
        rows,
        trace: {
          kind: planned.some(({ row }) => row.isPrompt) ? 'prefill' : 'decode',
          startedAtMs,
          timing: this.#parts.device ? { ...onCpu, readbackMs } : onCpu,
          batch: sequences.length,
          tokens: planned.reduce((sum, { tokens }) => sum + tokens, 0),
          contextTokens: Math.max(...sequences.map(({ tokens }) => tokens.length)),
        },
      };
    } catch (error) {
      // What was not computed did not happen.
      for (const [index, sequence] of sequences.entries())
        sequence.plannedLength -= expected[index]! - sequence.tokens.length;
      throw error;
    }
  }

  async #dispose(): Promise<void> {
    this.#stopListening();
    this.#inOrder(() => {
      for (const sequence of this.#sequences.values()) sequence.kv = undefined;
      this.#sequences.clear();
    });
    await this.#parts.session.release();
  }
}

const tokensFor = (planned: readonly PlannedRow[], sequence: OnnxSequence): number =>
  planned.reduce((sum, row) => sum + (row.sequence === sequence ? row.tokens : 0), 0);

/** @throws RangeError for a row that is sampled at each token where it must not be, or for more of them than there may be */
function checkVerification(rows: readonly StepRow[], { maxVerifyTokens }: BackendCapabilities): void {
  if (!rows.some(({ sample }) => sample === 'each')) return;
  let sampled = 0;
  for (const { input, sample, isPrompt, mask } of rows) {
    if (sample === 'each' && (input === 'previous' || isPrompt || mask))
      throw new RangeError("Cannot sample at each token of a prompt, of 'previous' or with a mask: give ids of output");
    sampled += sample === 'each' ? input.length : sample ? 1 : 0;
  }
  if (sampled > maxVerifyTokens)
    throw new RangeError(`Cannot sample at ${sampled} tokens of a step: give at most ${maxVerifyTokens}`);
}
