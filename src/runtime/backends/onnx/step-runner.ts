import type { Clock } from '../../../shared/clock.ts';
import { isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import type { StepTiming } from '../../../shared/trace.ts';
import type { SampledToken, StepRow, StepRowResult } from '../backend.ts';
import { createSampler, type Sampler } from '../sampling/sampler.ts';
import { gatherKv, orderInBatch, type KvBatch } from './kv-batch.ts';
import { kvBytesPerToken } from './kv-tensors.ts';
import type { OnnxSequence } from './onnx-sequence.ts';
import type { ForwardResult, ForwardRows, OnnxSession } from './onnx-session.ts';
import type { OrtRuntime } from './ort-runtime.ts';
import { groupRuns } from './run-groups.ts';

/** A row whose place in its sequence is fixed: rows are planned when `step` is called, and run later. */
export interface PlannedRow {
  row: StepRow;
  sequence: OnnxSequence;
  tokens: number;
}

/** KV of a sequence grows up to this, and that of a run; beyond it, neither WASM memory nor most GPUs go along. */
export const MAX_KV_BYTES = 2 ** 30;

/** Tokens of padding that WASM lets stand rather than copy KV: drafts that were rejected leave some. GPU kernels take none. */
const WASM_SLACK = 64;

export type RunTiming = Required<Omit<StepTiming, 'gpuMs'>>;

export interface StepRunnerParts {
  runtime: OrtRuntime;
  session: OnnxSession;
  /** The device that computes; absent on WASM. */
  device?: GPUDevice;
  clock: Clock;
  weightBytes: number;
  /** Rows that are computed together; 1: each row is a run of its own. */
  maxBatch: number;
}

/** Computes the rows of a step in as few runs as there can be, and samples. */
export class StepRunner {
  readonly #parts: StepRunnerParts;
  readonly #sampler: Sampler;

  constructor(parts: StepRunnerParts) {
    this.#parts = parts;
    this.#sampler = createSampler(parts.session.vocabSize);
  }

  /** Results in the order of the rows. What a failure leaves undone is told by `sequence.tokens`. Times are added to `timing`. */
  async run(planned: readonly PlannedRow[], timing: RunTiming): Promise<StepRowResult[]> {
    const results = Array.from<StepRowResult>({ length: planned.length });
    for (const group of this.#groups(planned)) {
      const rows = group.map((index) => planned[index]!);
      const made = await this.#runTogether(rows, timing);
      for (const [at, index] of group.entries()) results[index] = made[at]!;
    }
    return results;
  }

  #groups(planned: readonly PlannedRow[]): number[][] {
    const { session, weightBytes, maxBatch } = this.#parts;
    if (maxBatch === 1) return planned.map((_, index) => [index]);
    const rows = planned.map(({ sequence, tokens }) => ({
      tokens,
      length: sequence.tokens.length,
      isAlone: planned.filter((other) => other.sequence === sequence).length === 1,
    }));
    return groupRuns(rows, {
      kvBytesPerToken: kvBytesPerToken(session.layout),
      weightBytes,
      maxKvBytes: MAX_KV_BYTES,
    });
  }

  async #runTogether(given: readonly PlannedRow[], timing: RunTiming): Promise<StepRowResult[]> {
    const started = this.#parts.clock.now();
    const { batch, order, isOwn } = this.#past(given);
    timing.encodeMs += this.#parts.clock.now() - started;
    const planned = order.map((index) => given[index]!);
    const ids = planned.map(({ row, sequence }) => (row.input === 'previous' ? [sequence.previousToken()] : row.input));
    let result: ForwardResult;
    try {
      result = await this.#forward({
        ids,
        lengths: planned.map(({ sequence }) => sequence.tokens.length),
        past: batch,
        logits: Math.max(...planned.map(wantedLogits)),
      });
    } finally {
      if (isOwn) batch?.dispose();
    }
    for (const part of ['encodeMs', 'submitMs', 'readbackMs'] as const) timing[part] += result.timing[part];
    // All of them first: the batch is freed when its last row is let go of.
    for (const [row, { sequence }] of planned.entries()) sequence.kv = { batch: result.kv, row };
    const results = Array.from<StepRowResult>({ length: given.length });
    const sampling = this.#parts.clock.now();
    try {
      for (const [at, index] of order.entries())
        results[index] = this.#accept(planned[at]!, ids[at]!, logitsOfRow(result, planned, at));
    } finally {
      timing.sampleMs += this.#parts.clock.now() - sampling;
    }
    return results;
  }

  /** KV of these rows in one batch, and their order in it. */
  #past(planned: readonly PlannedRow[]): { batch: KvBatch | undefined; order: readonly number[]; isOwn: boolean } {
    const { runtime, session, device } = this.#parts;
    const sources = planned.map(({ sequence }) => ({ kv: sequence.kv, length: sequence.tokens.length }));
    const order = orderInBatch(sources, device ? 0 : WASM_SLACK);
    if (order) return { batch: sources[0]!.kv!.batch, order, isOwn: false };
    const batch = gatherKv(runtime.ort, session.layout, sources, device);
    return { batch, order: planned.map((_, index) => index), isOwn: true };
  }

  async #forward(rows: ForwardRows): Promise<ForwardResult> {
    try {
      return await this.#parts.session.forward(rows);
    } catch (cause) {
      if (isTokenglassError(cause)) throw cause;
      const text = cause instanceof Error ? cause.message : String(cause);
      const message = `Cannot compute a step: onnxruntime-web says "${text}"; load the model again`;
      throw new TokenglassError('internal', message, { cause });
    }
  }

  /** Appends the row's input, and samples after its last token or after each. */
  #accept({ row, sequence }: PlannedRow, ids: readonly number[], logits: readonly Float32Array[]): StepRowResult {
    const result: StepRowResult = { sequence: row.sequence };
    const each: SampledToken[] = [];
    for (const [at, id] of ids.entries()) {
      sequence.tokens.append(id, row.isPrompt);
      if (row.sample === 'each') each.push(this.#sample(row, sequence, logits[at]!));
    }
    if (row.sample === 'each') return { ...result, tokens: each };
    return row.sample ? { ...result, ...this.#sample(row, sequence, logits.at(-1)!) } : result;
  }

  #sample({ mask }: StepRow, sequence: OnnxSequence, logits: Float32Array): SampledToken {
    const sampled = this.#sampler.sample({
      logits,
      params: sequence.options.sampling,
      counts: sequence.tokens,
      position: sequence.tokens.length,
      logprobs: sequence.options.logprobs,
      ...(mask && { mask }),
    });
    sequence.sampled = sampled.token;
    return sampled;
  }
}

/** Positions at the end of a row whose logits it needs. */
const wantedLogits = ({ row, tokens }: PlannedRow): number => (row.sample === 'each' ? tokens : row.sample ? 1 : 0);

/** Of a single row, all that were read; of several, one each, if any. */
const logitsOfRow = ({ logits }: ForwardResult, planned: readonly PlannedRow[], at: number): readonly Float32Array[] =>
  planned.length === 1 ? logits : logits.slice(at, at + 1);
