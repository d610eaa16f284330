import { systemClock, type Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { StepTrace } from '../../../shared/trace.ts';
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
import type { KvBlocks } from '../kv/kv-blocks.ts';
import { WasmKv, type PoolMemory } from './wasm-kv.ts';
import type { Sequences } from '../kv/sequences.ts';
import type { SequenceSampler } from './sequence-sampler.ts';
import type { StepCosts } from './step-costs.ts';
import type { StepRunner } from './step-runner.ts';

/** What a backend is made of; `createWasmBackend` makes it. */
export interface WasmParts {
  info: BackendInfo;
  runner: StepRunner;
  sampler: SequenceSampler;
  sequences: Sequences;
  blocks: KvBlocks;
  kvMemory: PoolMemory;
  kvFormat: string;
  costs: StepCosts;
  /** Resolves when a thread has died. */
  lost: Promise<Error>;
  /** Ends the threads. */
  end: () => void;
  clock?: Clock;
}

/** Our own CPU runtime as a {@link Backend}. One step at a time: a CPU has nothing to gain from steps in flight. */
export class WasmBackend implements Backend {
  readonly info: BackendInfo;
  readonly lost: Promise<Error>;
  readonly kv: BackendKv;
  readonly #parts: WasmParts;
  readonly #clock: Clock;
  #running: Promise<unknown> | undefined;
  /** What was asked for while a step ran, and must not change what it uses. */
  #afterStep: (() => void)[] = [];
  #failure: Error | undefined;
  #disposing: Promise<void> | undefined;

  constructor(parts: WasmParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.#clock = parts.clock ?? systemClock;
    const { kvMemory } = parts;
    const idle = async (): Promise<void> => {
      await this.#running?.catch(() => undefined);
    };
    this.kv = new WasmKv(
      {
        ...parts,
        kvMemory: {
          blockBytes: kvMemory.blockBytes,
          read: (blocks) => kvMemory.read(blocks),
          write: async (blocks, data) => {
            await idle();
            return kvMemory.write(blocks, data);
          },
        },
      },
      () => this.#check(),
    );
    this.lost = parts.lost.then((error) => {
      this.#failure ??= error;
      return error;
    });
  }

  openSequence(options: SequenceOptions): SequenceId {
    this.#check();
    const { logprobs: most } = this.info.capabilities;
    if (options.logprobs > most)
      throw new TokenglassError(
        'unsupported',
        `Cannot give ${options.logprobs} log-probabilities: ${most} is the most`,
      );
    const sequence = this.#parts.sequences.open(options);
    try {
      this.#parts.sampler.open(sequence.slot, options);
    } catch (error) {
      this.#parts.sequences.close(sequence.id);
      throw error;
    }
    return sequence.id;
  }

  closeSequence(sequence: SequenceId): void {
    this.#whenIdle(() => this.#parts.sequences.close(sequence));
  }

  truncate(id: SequenceId, length: number): void {
    const sequence = this.#parts.sequences.get(id);
    this.#parts.sequences.truncate(sequence, length);
    this.#whenIdle(() => this.#parts.sampler.truncate(sequence.slot, length));
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
    if (this.#running) throw new RangeError('Cannot run a step: 1 is in flight; await it first');
    const result = this.#run(rows);
    this.#running = result;
    try {
      return await result;
    } finally {
      this.#running = undefined;
      for (const action of this.#afterStep.splice(0)) action();
    }
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    await this.#running?.catch(() => undefined);
    this.#failure ??= disposed();
    this.#parts.end();
  }

  #check(): void {
    if (this.#disposing) throw disposed();
    if (this.#failure) throw this.#failure;
  }

  #whenIdle(action: () => void): void {
    if (this.#running) this.#afterStep.push(action);
    else action();
  }

  async #run(rows: readonly StepRow[]): Promise<StepResult> {
    const { sequences, runner, sampler, costs } = this.#parts;
    const startedAtMs = this.#clock.now();
    const checked = checkRows(rows, sequences, this.info);
    for (const { sequence, count } of checked) sequences.reserve(sequence, count);
    const packed = runner.pack(checked, (slot) => sampler.latest(slot));
    for (const { sequence, count, row } of checked) {
      sequence.length += count;
      sequence.hasSampled ||= row.sample !== false;
    }
    const lengths = checked.map(({ sequence }) => sequence.length);
    const preparedMs = this.#clock.now();
    try {
      await runner.run(packed);
    } catch (error) {
      this.#failure ??= error as Error;
      throw error;
    }
    const computedMs = this.#clock.now();
    const results = checked.map((row, index) => this.#sample(row, packed.starts[index]!, packed.samples[index]!));
    const now = this.#clock.now();
    const cost = costs.of(packed.contexts, packed.sampleCount, lengths);
    const trace: StepTrace = {
      kind: rows.every((row) => !row.isPrompt) ? 'decode' : 'prefill',
      startedAtMs,
      timing: { totalMs: now - startedAtMs, encodeMs: preparedMs - startedAtMs, sampleMs: now - computedMs },
      batch: rows.length,
      tokens: packed.contexts.length,
      contextTokens: Math.max(0, ...packed.contexts),
      bytes: cost.bytes,
      flop: cost.flop,
    };
    return { rows: results, trace };
  }

  /** @param start tokens of the sequence before the row @param first row of logits of its first sample */
  #sample({ row, sequence, count }: CheckedRow, start: number, first: number): StepRowResult {
    const { sampler, runner } = this.#parts;
    const { slot, id } = sequence;
    const ids = row.input === 'previous' ? [sampler.latest(slot)] : row.input;
    if (row.sample !== 'each') {
      sampler.append(slot, ids, row.isPrompt);
      if (!row.sample) return { sequence: id };
      return { sequence: id, ...sampler.sample(slot, runner.logits(first), start + count, row.mask) };
    }
    const tokens = ids.map((token, depth): SampledToken => {
      sampler.append(slot, [token], false);
      return sampler.sample(slot, runner.logits(first + depth), start + depth + 1);
    });
    return { sequence: id, tokens };
  }
}

const disposed = (): TokenglassError =>
  new TokenglassError('disposed', 'Cannot use the backend: it was disposed of; load the model again');
