import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { SchedulingPolicy } from '../../shared/info.ts';
import type { StepTrace } from '../../shared/trace.ts';
import type { Backend, StepResult, StepRow } from '../backends/backend.ts';
import { Admission, type SchedulerCache } from './admission.ts';
import { DEFAULT_MAX_QUEUED, DEFAULT_POLICY, POLICIES } from './policies.ts';
import { timedOut } from '../request/refusals.ts';
import type { Sequence, Verified } from './sequence.ts';
import type { DraftMethod, Speculator } from './speculation/speculator.ts';
import { StepPace } from './step-pace.ts';
import { StepPlanner, type StepEntry } from './step-planner.ts';
import { TaskTurns } from './task-turns.ts';

export interface SchedulerOptions {
  backend: Backend;
  now: () => number;
  onStep: (step: StepTrace) => void;
  /** The backend is lost; called once. Everything pending has been failed. */
  onLost: (error: Error) => void;
  /** @default 'balanced' */
  policy?: SchedulingPolicy;
  /** Requests that may wait. @default 64 */
  maxQueued?: number;
  /** Decides when drafts are verified. @default none are */
  speculator?: Speculator;
  /** Where KV is found when a sequence begins, and kept when it was completed, aborted or preempted. @default all is computed */
  cache?: SchedulerCache;
}

/** A step that was given to the backend. */
interface Flight {
  entries: readonly StepEntry[];
  /** Where the drafts come from that it verifies. */
  drafted?: DraftMethod;
  outcome?: { result: StepResult; atMs: number } | { error: unknown };
}

/**
 * Steps in flight where one of several sequences needs the result of each before its next: it is then part of every second step, and the
 * others lose nothing, as one step computes while the next waits.
 */
const RUN_AHEAD_WITH_WAITERS = 2;

/**
 * The loop: takes requests off the queue, asks the running ones for rows, keeps as many steps in flight as the backend allows, and hands
 * results back in the order of the steps. Requests join and leave between steps. Runs only while there is work.
 */
export class Scheduler {
  /** Requests that run at the same time. */
  readonly maxRunning: number;
  readonly maxQueued: number;
  readonly policy: SchedulingPolicy;
  readonly #options: SchedulerOptions;
  readonly #backend: Backend;
  readonly #admission: Admission;
  readonly #planner = new StepPlanner();
  readonly #pace: StepPace;
  /** In the order given; the results of steps whose sequences have ended are awaited and dropped. */
  #flights: Flight[] = [];
  #lastResultMs = -Infinity;
  #loop: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #isPoked = false;
  /** Why nothing runs any more: disposed of, or the backend is lost. */
  #ended: Error | undefined;

  constructor(options: SchedulerOptions) {
    const { backend, policy = DEFAULT_POLICY, maxQueued = DEFAULT_MAX_QUEUED } = options;
    this.#options = options;
    this.#backend = backend;
    this.policy = policy;
    this.maxQueued = maxQueued;
    this.maxRunning = Math.min(POLICIES[policy].maxRunning, backend.info.capabilities.maxBatch);
    this.#admission = new Admission({
      ...options,
      maxRunning: this.maxRunning,
      maxQueued,
      onChange: () => this.#poke(),
      onFailed: (sequence, error) => this.cancel(sequence, 'failed', error),
      onLost: (error) => this.#lose(error),
    });
    this.#pace = new StepPace(POLICIES[policy].stretch);
    void backend.lost.then((error) => this.#lose(error));
  }

  /** Queues a sequence, or fails it at once. */
  enqueue(sequence: Sequence): void {
    const refusal = this.#ended ?? this.#admission.add(sequence);
    if (refusal) {
      sequence.fail('failed', refusal);
      return;
    }
    this.expire();
    this.#poke();
    this.#loop ??= this.#run();
  }

  /** Ends a sequence, waiting or running, at once. No further step is given for it; those in flight are awaited by the loop. */
  cancel(sequence: Sequence, outcome: 'aborted' | 'failed', error: unknown): void {
    sequence.fail(outcome, error);
    this.#admission.remove(sequence, outcome === 'aborted' || isTokenglassError(error, 'timeout'));
    this.#poke();
  }

  /** Ends those that have taken too long. */
  expire(): void {
    const nowMs = this.#options.now();
    for (const sequence of this.#admission.all()) {
      const { timeout } = sequence;
      if (timeout && timeout.deadlineMs <= nowMs) this.cancel(sequence, 'failed', timedOut(timeout.afterMs));
    }
  }

  /** Fails everything, now and later, with `error`. Without effect the second time. */
  end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    for (const sequence of this.#admission.all()) this.cancel(sequence, 'failed', error);
    this.#poke();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // `generate` returns before anything is computed
    const turns = new TaskTurns();
    try {
      while (!this.#ended && this.#admission.size + this.#flights.length > 0) {
        this.#isPoked = false; // whatever has changed is seen from here on
        this.expire();
        this.#admission.admit();
        await this.#awaitMasks();
        await this.#giveDraftedOrPlain();
        await this.#settleSome();
        // Here, and not between giving and settling: a step may compute on this thread, and the tokens at hand are to get out before.
        await turns.next();
      }
    } catch (cause) {
      this.#lose(new TokenglassError('internal', 'Cannot go on: the loop of the engine broke', { cause }));
    }
    turns.close();
    this.#options.speculator?.rest();
    this.#flights = [];
    this.#loop = undefined;
  }

  /** Grammars tell in microtasks what may come next; sequences without one are not waited for. */
  async #awaitMasks(): Promise<void> {
    for (const sequence of this.#admission.running) {
      if (!sequence.pending) continue;
      try {
        await sequence.pending;
      } catch (error) {
        this.cancel(sequence, 'failed', error);
      }
    }
  }

  /** One step that verifies drafts where that pays, nothing while results have to come first, else steps ahead of their results. */
  async #giveDraftedOrPlain(): Promise<void> {
    const { speculator } = this.#options;
    const { running, isAdmitting } = this.#admission;
    const isSteady = !isAdmitting && [...running].every(({ isPrefilling }) => !isPrefilling);
    if (!speculator || !isSteady) {
      this.#giveSteps();
      return;
    }
    const plan = await speculator.plan([...running], this.#flights.length === 0);
    if (plan.kind === 'wait') return;
    if (plan.kind === 'run-ahead') {
      this.#giveSteps();
      return;
    }
    for (const sequence of running) {
      const drafts = plan.drafts.get(sequence) ?? [];
      const id = sequence.backendId;
      // Nobody makes way for a guess.
      const fits = drafts.length > 0 && id !== undefined && this.#backend.reserveKv(id, 1 + drafts.length);
      if (fits) sequence.verifyNext(drafts);
    }
    const entries = this.#planStep();
    if (entries.length > 0) this.#giveStep(entries, plan.method);
  }

  #giveSteps(): void {
    const { runAhead } = this.#backend.info.capabilities;
    const { running } = this.#admission;
    while (!this.#ended && this.#flights.length < runAhead) {
      // Whoever is about to join is not to wait for more steps than one.
      if (this.#admission.isAdmitting && this.#flights.length > 0) return;
      const hasWaiters = running.size > 1 && [...running].some(({ needsResults }) => needsResults);
      if (hasWaiters && this.#flights.length >= RUN_AHEAD_WITH_WAITERS) return;
      const entries = this.#planStep();
      if (entries.length === 0) return;
      this.#giveStep(entries);
    }
  }

  #planStep(): StepEntry[] {
    const { maxBatch, maxStepTokens } = this.#backend.info.capabilities;
    const { running } = this.#admission;
    const decodeRows = [...running].filter(({ isPrefilling }) => !isPrefilling).length;
    const promptTokens = this.#pace.chunkTokens(decodeRows, running.size - decodeRows);
    const budget = { rows: maxBatch, tokens: maxStepTokens, promptTokens };
    let mayPreempt = true;
    return this.#planner.plan(running, budget, (sequence, tokens) => {
      if (this.#admission.takeRoom(sequence, tokens, mayPreempt)) return true;
      mayPreempt = false;
      return false;
    });
  }

  #giveStep(entries: readonly StepEntry[], drafted?: DraftMethod): void {
    const flight: Flight = { entries, ...(drafted && { drafted }) };
    this.#flights.push(flight);
    const settle = (outcome: NonNullable<Flight['outcome']>): void => {
      flight.outcome = outcome;
      this.#poke();
    };
    // In a function of its own, so that a backend that throws instead of rejecting is treated alike.
    const step = async (): Promise<StepResult> => this.#backend.step(entries.map(({ row }) => row));
    step().then(
      (result) => settle({ result, atMs: this.#options.now() }),
      (error: unknown) => settle({ error }),
    );
  }

  /** Something has changed that the loop may be waiting for. */
  #poke(): void {
    this.#isPoked = true;
    this.#wake?.();
  }

  /** Hands over the results that are there, oldest first. If there are none, waits for them or for whatever else changes. */
  async #settleSome(): Promise<void> {
    const mayChange = this.#flights.length > 0 || this.#admission.isAdmitting;
    if (mayChange && !this.#isPoked && !this.#flights[0]?.outcome)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    while (!this.#ended && this.#flights[0]?.outcome) {
      const flight = this.#flights.shift()!;
      if (!flight.outcome) return;
      if ('error' in flight.outcome) this.#failStep(flight.entries, flight.outcome.error);
      else this.#acceptStep(flight, flight.outcome.result, flight.outcome.atMs);
    }
  }

  #acceptStep({ entries, drafted }: Flight, { rows, trace }: StepResult, atMs: number): void {
    const ownMs = atMs - Math.max(trace.startedAtMs, this.#lastResultMs);
    this.#measure(entries, trace, ownMs);
    this.#lastResultMs = atMs;
    const sum = { drafted: 0, accepted: 0 };
    for (const [index, { sequence, row }] of entries.entries()) {
      try {
        const verified = sequence.accept(row, rows[index], trace, { atMs, ownMs });
        if (verified) this.#settleDrafts(row, verified, drafted, sum);
      } catch (error) {
        this.cancel(sequence, 'failed', error);
      }
      if (sequence.hasEnded) this.#admission.remove(sequence, true);
      else if (row.sample === true && row.input !== 'previous') this.#admission.keepPrompt(sequence);
    }
    this.#options.onStep(sum.drafted > 0 ? { ...trace, ...sum } : trace);
    this.#options.speculator?.stepDone({
      kind: drafted ?? (entries.every(({ row }) => row.input === 'previous') ? 'plain' : 'other'),
      rows: trace.tokens,
      sequences: entries.length,
      startedAtMs: trace.startedAtMs,
      atMs,
    });
  }

  /** What was wrong goes, before anything else is made of the sequence's KV. */
  #settleDrafts(
    { sequence: id }: StepRow,
    { drafted, accepted, rejected }: Verified,
    method: DraftMethod | undefined,
    sum: { drafted: number; accepted: number },
  ): void {
    if (rejected > 0) this.#backend.truncate(id, this.#backend.sequenceLength(id) - rejected);
    if (method) this.#options.speculator?.verified(method, drafted, drafted - rejected);
    sum.drafted += drafted;
    sum.accepted += accepted;
  }

  #measure(entries: readonly StepEntry[], { timing }: StepTrace, ownMs: number): void {
    const prefills = entries.filter(({ row }) => row.input !== 'previous' && row.sample !== 'each');
    this.#pace.observe({
      decodeRows: entries.length - prefills.length,
      prefillTokens: prefills.reduce((sum, { row }) => sum + row.input.length, 0),
      ms: timing.gpuMs ?? ownMs,
    });
  }

  /**
   * A step that failed takes its sequences with it, and nothing else, unless the device went. Where the backend names the one that is to blame, the
   * others are computed again.
   */
  #failStep(entries: readonly StepEntry[], error: unknown): void {
    if (isTokenglassError(error, 'device-lost')) this.#lose(error);
    const culprit = isTokenglassError(error) ? error.details['sequence'] : undefined;
    const isNamed = entries.some(({ row }) => row.sequence === culprit);
    for (const { sequence, row } of entries) {
      if (sequence.hasEnded || sequence.backendId !== row.sequence) continue;
      if (isNamed && row.sequence !== culprit) this.#admission.preempt(sequence);
      else this.cancel(sequence, 'failed', error);
    }
  }

  #lose(error: Error): void {
    if (this.#ended) return;
    this.end(error);
    this.#options.onLost(error);
  }
}
