import type { Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type {
  Backend,
  BackendCapabilities,
  BackendInfo,
  BackendKv,
  SampledToken,
  SequenceId,
  SequenceOptions,
  StepResult,
  StepRow,
  StepRowResult,
} from '../../backends/backend.ts';
import { BYTE_VOCAB_SIZE } from './byte-tokenizer.ts';
import { FakeKv } from './fake-kv.ts';
import { FakePool } from './fake-pool.ts';
import { hashedToken, type History, type NextToken } from './next-token.ts';

export interface FakeBackendOptions {
  capabilities?: Partial<BackendCapabilities>;
  /** @default 256 */
  contextTokens?: number;
  /** Tokens of KV that all sequences share, with what is kept for later; at least one context. @default no limit */
  kvTokens?: number;
  /** @default {@link hashedToken} */
  nextToken?: NextToken;
  /**
   * When steps end: `immediate` in a microtask, `task` each in a task of its own, `manual` by {@link FakeBackend.complete}.
   * @default 'immediate'
   */
  completion?: 'immediate' | 'task' | 'manual';
  /** Fails the step of this number (from 0) with what it gives, if it gives something. */
  failStep?: (step: number) => Error | undefined;
  /** @default one that stands still */
  clock?: Clock;
  /** Other weights have another one. @default 'fake' */
  fingerprint?: string;
  /** Called as a step ends, before its result is there: where a test moves its clock on. */
  onStepEnd?: (rows: readonly StepRow[]) => void;
}

interface FakeSequence extends History {
  tokens: number[];
  options: SequenceOptions;
  /** Sampled by its latest step. */
  previous: number | undefined;
  /** Blocks of the pool. */
  blocks: number;
}

interface PendingStep {
  rows: readonly StepRow[];
  settle: () => void;
  reject: (error: Error) => void;
}

const CAPABILITIES: BackendCapabilities = {
  maxBatch: 4,
  maxStepTokens: 16,
  runAhead: 1,
  kvExport: false,
  logprobs: 3,
  grammarMask: false,
  maxVerifyTokens: 0,
};

/** A Backend without a model: its tokens are a function of the tokens it was fed. Checks that the engine keeps to the contract. */
export class FakeBackend implements Backend {
  readonly info: BackendInfo;
  readonly lost: Promise<Error>;
  /** There with `capabilities.kvExport`. */
  readonly kv?: BackendKv & FakeKv;
  /** Rows of every step given, in order. */
  readonly given: (readonly StepRow[])[] = [];
  readonly #options: FakeBackendOptions;
  readonly #sequences = new Map<SequenceId, FakeSequence>();
  readonly #pending: PendingStep[] = [];
  readonly #pool: FakePool;
  #nextId = 1;
  #gone: Error | undefined;
  #resolveLost!: (error: Error) => void;
  #watchers: { count: number; resolve: () => void }[] = [];
  #drained: (() => void)[] = [];

  constructor(options: FakeBackendOptions = {}) {
    this.#options = options;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    this.info = {
      name: 'fake',
      version: '0',
      model: {
        id: 'fake',
        architecture: 'fake',
        quantization: 'none',
        layers: 1,
        hiddenSize: 32,
        heads: 1,
        kvHeads: 1,
        headDim: 32,
        vocabSize: BYTE_VOCAB_SIZE,
        contextTokens: options.contextTokens ?? 256,
        parameters: 0,
        weightBytes: 0,
        kvBytesPerToken: 0,
        fingerprint: options.fingerprint ?? 'fake',
      },
      capabilities: { ...CAPABILITIES, ...options.capabilities },
    };
    this.#pool = new FakePool(
      options.kvTokens ?? Infinity,
      () => this.#sequences.values(),
      () => ({ blocks: this.kv?.held.size ?? 0, giveUp: () => this.kv?.onMemoryNeeded?.() ?? false }),
    );
    if (this.info.capabilities.kvExport)
      this.kv = new FakeKv(
        (id) => this.#sequence(id),
        (id, tokens) => this.reserveKv(id, tokens),
      );
  }

  /** Sequences that were opened and not closed. */
  get openSequences(): number {
    return this.#sequences.size;
  }

  /** Blocks of KV that open sequences have. */
  get usedBlocks(): number {
    return this.#pool.usedBlocks;
  }

  /** Steps given whose result is not there yet. */
  get pendingSteps(): number {
    return this.#pending.length;
  }

  /** Resolves once `count` steps have been given altogether. */
  whenGiven(count: number): Promise<void> {
    if (this.given.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push({ count, resolve }));
  }

  /** Ends the oldest pending steps (`manual`). */
  complete(count = 1): void {
    for (const step of this.#pending.splice(0, count)) this.#end(step);
  }

  /** Ends every step, pending and to come, until the backend is disposed of: a `manual` backend becomes an `immediate` one. */
  release(): void {
    this.#options.completion = 'immediate';
    this.complete(this.#pending.length);
  }

  /** @param hang true: pending steps never settle, as with some lost devices */
  lose(error: Error, hang = false): void {
    this.#gone = error;
    this.#resolveLost(error);
    const pending = this.#pending.splice(0);
    if (!hang) for (const step of pending) step.reject(error);
  }

  openSequence(options: SequenceOptions): SequenceId {
    if (this.#gone) throw this.#gone;
    if (options.logprobs > this.info.capabilities.logprobs)
      throw new TokenglassError('unsupported', 'Cannot open a sequence: too many log-probabilities');
    const id = this.#nextId++;
    this.#sequences.set(id, { tokens: [], promptLength: 0, options, previous: undefined, blocks: 0 });
    return id;
  }

  closeSequence(sequence: SequenceId): void {
    this.#sequences.delete(sequence);
  }

  sequenceLength(sequence: SequenceId): number {
    return this.#sequence(sequence).tokens.length;
  }

  truncate(id: SequenceId, length: number): void {
    const sequence = this.#sequence(id);
    if (length > sequence.tokens.length)
      throw new RangeError(`Cannot truncate to ${length}: the sequence has ${sequence.tokens.length} tokens`);
    sequence.tokens.length = length;
    sequence.promptLength = Math.min(sequence.promptLength, length);
    sequence.previous = undefined;
    this.#pool.trim(sequence);
  }

  reserveKv(id: SequenceId, tokens: number): boolean {
    const sequence = this.#sequence(id);
    const length = sequence.tokens.length + tokens;
    if (length > this.info.model.contextTokens) throw new RangeError(`Cannot set KV aside: ${length} tokens`);
    return this.#pool.reserve(sequence, tokens);
  }

  async step(rows: readonly StepRow[]): Promise<StepResult> {
    if (this.#gone) throw this.#gone;
    this.#checkStep(rows);
    const startedAtMs = this.#now();
    const index = this.given.length;
    for (const { sequence, input } of rows) this.#takeKv(sequence, input === 'previous' ? 1 : input.length);
    const results = rows.map((row) => this.#run(row));
    this.given.push(rows);
    this.#watchers = this.#watchers.filter(({ count, resolve }) => {
      if (this.given.length >= count) resolve();
      return this.given.length < count;
    });
    const failure = this.#options.failStep?.(index);
    const contextTokens = Math.max(...rows.map(({ sequence }) => this.sequenceLength(sequence)));
    await new Promise<void>((resolve, reject) => this.#schedule({ rows, settle: resolve, reject }));
    if (failure) throw failure;
    return {
      rows: results,
      trace: {
        kind: rows.some(({ isPrompt }) => isPrompt) ? 'prefill' : 'decode',
        startedAtMs,
        timing: { totalMs: this.#now() - startedAtMs },
        batch: rows.length,
        tokens: rows.reduce((sum, { input }) => sum + (input === 'previous' ? 1 : input.length), 0),
        contextTokens,
      },
    };
  }

  async dispose(): Promise<void> {
    if (!this.#gone) {
      this.#gone = new TokenglassError('disposed', 'Cannot use the backend: it was disposed of; create a new one');
      if (this.#pending.length > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
    }
    this.#sequences.clear();
  }

  #run({ sequence: id, input, sample, isPrompt, mask }: StepRow): StepRowResult {
    const sequence = this.#sequence(id);
    const each: SampledToken[] = [];
    const tokens = input === 'previous' ? [sequence.previous] : input;
    for (const token of tokens) {
      if (token === undefined) throw new TokenglassError('internal', 'Cannot take "previous": nothing was sampled');
      sequence.tokens.push(token);
      if (isPrompt) sequence.promptLength = sequence.tokens.length;
      if (sample === 'each') each.push(this.#sample(sequence, mask));
    }
    if (sample === 'each') return { sequence: id, tokens: each };
    return sample ? { sequence: id, ...this.#sample(sequence, mask) } : { sequence: id };
  }

  #takeKv(id: SequenceId, tokens: number): void {
    const sequence = this.#sequence(id);
    if (sequence.tokens.length + tokens > this.info.model.contextTokens)
      throw new TokenglassError('context-overflow', 'Cannot step: the context is full');
    if (!this.#pool.reserve(sequence, tokens))
      throw new TokenglassError('context-overflow', 'Cannot step: all KV is in use; reserve some first');
  }

  #sample(sequence: FakeSequence, mask: StepRow['mask']): SampledToken {
    const token = allowed((this.#options.nextToken ?? hashedToken)(sequence, sequence.options), mask);
    sequence.previous = token;
    const { logprobs } = sequence.options;
    if (logprobs === 0) return { token };
    // Probabilities 1/2, 1/4, ...: the sampled token first, then its neighbours.
    const topLogprobs = Array.from({ length: logprobs }, (_, rank) => ({
      id: (token + rank) % BYTE_VOCAB_SIZE,
      logprob: -Math.LN2 * (rank + 1),
    }));
    return { token, logprob: -Math.LN2, topLogprobs };
  }

  #checkStep(rows: readonly StepRow[]): void {
    const { maxBatch, maxStepTokens, maxVerifyTokens, runAhead } = this.info.capabilities;
    const verified = rows.filter(({ sample }) => sample === 'each');
    const sampled = rows.reduce(
      (sum, { input, sample }) => sum + (sample === 'each' ? input.length : sample ? 1 : 0),
      0,
    );
    const tokens = rows.reduce((sum, { input }) => sum + (input === 'previous' ? 1 : input.length), 0);
    const sequences = new Set(rows.map(({ sequence }) => sequence));
    const { vocabSize } = this.info.model;
    const isValid = ({ input, mask }: StepRow): boolean =>
      input.length > 0 &&
      (input === 'previous' || input.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize)) &&
      (mask === undefined || mask.length === Math.ceil(vocabSize / 32));
    const isKept =
      rows.length > 0 &&
      rows.length <= maxBatch &&
      sequences.size === rows.length &&
      tokens <= maxStepTokens &&
      rows.every(isValid) &&
      verified.every(({ input, isPrompt, mask }) => input !== 'previous' && !isPrompt && !mask) &&
      (verified.length === 0 || sampled <= maxVerifyTokens) &&
      this.#pending.length < runAhead;
    if (!isKept)
      throw new TokenglassError(
        'internal',
        `Cannot step: ${rows.length} rows, ${tokens} tokens, ${this.#pending.length} pending break the contract`,
      );
  }

  #schedule(step: PendingStep): void {
    this.#pending.push(step);
    const { completion = 'immediate' } = this.#options;
    if (completion === 'immediate') queueMicrotask(() => this.complete());
    else if (completion === 'task') inNextTask(() => this.complete());
  }

  #end(step: PendingStep): void {
    this.#options.onStepEnd?.(step.rows);
    step.settle();
    if (this.#pending.length > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #sequence(id: SequenceId): FakeSequence {
    const sequence = this.#sequences.get(id);
    if (!sequence) throw new RangeError(`Cannot use sequence ${id}: it is not open`);
    return sequence;
  }

  #now(): number {
    return this.#options.clock?.now() ?? 0;
  }
}

/** Timers would take 4 ms each in a browser, once they are nested. */
function inNextTask(work: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close(); // an open one keeps Node from exiting
    work();
  };
  port2.postMessage(undefined);
}

/** The token itself, or the next one that the mask allows. */
function allowed(token: number, mask: Uint32Array | undefined): number {
  if (!mask) return token;
  for (let step = 0; step < BYTE_VOCAB_SIZE; step++) {
    const id = (token + step) % BYTE_VOCAB_SIZE;
    if (((mask[id >> 5]! >> (id & 31)) & 1) === 1) return id;
  }
  throw new TokenglassError('numeric-fault', 'Cannot sample: every token is banned');
}
