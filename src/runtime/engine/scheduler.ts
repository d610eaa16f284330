import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { StepTrace } from '../../shared/trace.ts';
import type { Backend, SequenceId, SequenceOptions, StepResult, StepRow } from '../backends/backend.ts';
import type { Sequence } from './sequence.ts';
import { TaskTurns } from './task-turns.ts';

export interface SchedulerOptions {
  backend: Backend;
  now: () => number;
  onStep: (step: StepTrace) => void;
  /** The backend is lost; called once. Everything pending has been failed. */
  onLost: (error: Error) => void;
  /** Sequences that run at the same time; the others wait in order. @default 1 */
  maxRunning?: number;
  /** Where KV is found when a sequence begins, and kept when it was completed or aborted. @default all is computed */
  cache?: SchedulerCache;
}

/** The prefix cache, as the scheduler sees it. */
export interface SchedulerCache {
  /** Gives an empty sequence what is cached of the beginning of `tokens`, never all of them, and resolves to how many that are. */
  restore(
    id: SequenceId,
    request: { tokens: readonly number[]; promptTokens: number },
  ): Promise<{ memoryTokens: number; storedTokens: number }>;
  /** Keeps the KV of a sequence that begins with `tokens` and is closed right after; steps that ran ahead of its stop may have appended more. */
  keep(id: SequenceId, tokens: readonly number[]): void;
}

/** A step that was given to the backend. */
interface Flight {
  entries: readonly { sequence: Sequence; row: StepRow }[];
  outcome?: { result: StepResult; atMs: number } | { error: unknown };
}

/**
 * The loop: takes sequences off the queue in order, asks them for rows, keeps as many steps in flight as the backend allows, and
 * hands results back in the order of the steps. Runs only while there is work.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #backend: Backend;
  readonly #maxRunning: number;
  readonly #waiting: Sequence[] = [];
  readonly #running = new Set<Sequence>();
  /** In the order given; the results of steps whose sequences have ended are awaited and dropped. */
  #flights: Flight[] = [];
  #loop: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  /** Why nothing runs any more: disposed of, or the backend is lost. */
  #ended: Error | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#backend = options.backend;
    this.#maxRunning = options.maxRunning ?? 1;
    void this.#backend.lost.then((error) => this.#lose(error));
  }

  enqueue(sequence: Sequence): void {
    if (this.#ended) {
      sequence.fail('failed', this.#ended);
      return;
    }
    this.#waiting.push(sequence);
    this.#loop ??= this.#run();
  }

  /** Ends a sequence, waiting or running, at once. No further step is given for it; those in flight are awaited by the loop. */
  cancel(sequence: Sequence, outcome: 'aborted' | 'failed', error: unknown): void {
    sequence.fail(outcome, error);
    const index = this.#waiting.indexOf(sequence);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.#release(sequence);
  }

  /** Fails everything, now and later, with `error`. Without effect the second time. */
  end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    for (const sequence of [...this.#running, ...this.#waiting]) this.cancel(sequence, 'failed', error);
    this.#wake?.();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // `generate` returns before anything is computed
    const turns = new TaskTurns();
    try {
      while (!this.#ended && this.#waiting.length + this.#running.size + this.#flights.length > 0) {
        await this.#admit();
        await this.#awaitMasks();
        this.#giveSteps();
        await this.#settleSome();
        // Here, and not between giving and settling: a step may compute on this thread, and the tokens at hand are to get out before.
        await turns.next();
      }
    } catch (cause) {
      this.#lose(new TokenglassError('internal', 'Cannot go on: the loop of the engine broke', { cause }));
    }
    turns.close();
    this.#flights = [];
    this.#loop = undefined;
  }

  async #admit(): Promise<void> {
    while (this.#running.size < this.#maxRunning) {
      const sequence = this.#waiting.shift();
      if (!sequence) return;
      this.#running.add(sequence);
      try {
        const options = await sequence.start();
        if (options) await this.#open(sequence, options);
      } catch (error) {
        this.cancel(sequence, 'failed', error);
      }
    }
  }

  async #open(sequence: Sequence, options: SequenceOptions): Promise<void> {
    const { cache } = this.#options;
    let id = this.#backend.openSequence(options);
    if (!cache) {
      sequence.opened(id);
      return;
    }
    let cached = { memory: 0, stored: 0 };
    try {
      const { memoryTokens, storedTokens } = await cache.restore(id, sequence.cacheable);
      cached = { memory: memoryTokens, stored: storedTokens };
    } catch {
      // The answer does not need the cache: begin again with a sequence that is surely empty.
      this.#backend.closeSequence(id);
      if (sequence.hasEnded) return;
      id = this.#backend.openSequence(options);
    }
    if (sequence.hasEnded) this.#backend.closeSequence(id);
    else sequence.opened(id, cached);
  }

  /** Grammars tell in microtasks what may come next; sequences without one are not waited for. */
  async #awaitMasks(): Promise<void> {
    for (const sequence of this.#running) {
      if (!sequence.pending) continue;
      try {
        await sequence.pending;
      } catch (error) {
        this.cancel(sequence, 'failed', error);
      }
    }
  }

  #giveSteps(): void {
    while (!this.#ended && this.#flights.length < this.#backend.info.capabilities.runAhead) {
      const entries = this.#planStep();
      if (entries.length === 0) return;
      this.#giveStep(entries);
    }
  }

  /** Rows of the next step, within the budget of the backend. */
  #planStep(): Flight['entries'] {
    const { maxBatch, maxStepTokens } = this.#backend.info.capabilities;
    const entries: { sequence: Sequence; row: StepRow }[] = [];
    let budget = maxStepTokens;
    for (const sequence of this.#running) {
      if (entries.length >= maxBatch) break;
      const row = sequence.nextRow(budget);
      if (!row) continue;
      entries.push({ sequence, row });
      budget -= row.input === 'previous' ? 1 : row.input.length;
    }
    return entries;
  }

  #giveStep(entries: Flight['entries']): void {
    const flight: Flight = { entries };
    this.#flights.push(flight);
    const settle = (outcome: NonNullable<Flight['outcome']>): void => {
      flight.outcome = outcome;
      this.#wake?.();
    };
    // In a function of its own, so that a backend that throws instead of rejecting is treated alike.
    const step = async (): Promise<StepResult> => this.#backend.step(entries.map(({ row }) => row));
    step().then(
      (result) => settle({ result, atMs: this.#options.now() }),
      (error: unknown) => settle({ error }),
    );
  }

  /** Hands over the results that are there, oldest first; waits if there are none. */
  async #settleSome(): Promise<void> {
    if (this.#flights.length === 0) return;
    while (!this.#ended && !this.#flights[0]?.outcome) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    this.#wake = undefined;
    while (!this.#ended && this.#flights[0]?.outcome) {
      const { entries, outcome } = this.#flights.shift()!;
      if (!outcome) return;
      if ('error' in outcome) this.#failStep(entries, outcome.error);
      else this.#acceptStep(entries, outcome.result, outcome.atMs);
    }
  }

  #acceptStep(entries: Flight['entries'], { rows, trace }: StepResult, atMs: number): void {
    this.#options.onStep(trace);
    for (const [index, { sequence, row }] of entries.entries()) {
      try {
        sequence.accept(row, rows[index], trace, atMs);
      } catch (error) {
        this.cancel(sequence, 'failed', error);
      }
      if (sequence.hasEnded) this.#release(sequence);
      else if (row.sample && row.input !== 'previous') this.#keepPrompt(sequence);
    }
  }

  /**
   * A prompt is kept as soon as it is computed, for the case that the answer is cut short; but only where steps in flight hide what
   * that costs.
   */
  #keepPrompt(sequence: Sequence): void {
    if (sequence.backendId === undefined || this.#backend.info.capabilities.runAhead < 2) return;
    this.#options.cache?.keep(sequence.backendId, sequence.cacheable.tokens);
  }

  /** A step that failed takes its sequences with it, and nothing else, unless the device went. */
  #failStep(entries: Flight['entries'], error: unknown): void {
    if (isTokenglassError(error, 'device-lost')) this.#lose(error);
    for (const { sequence } of entries) if (!sequence.hasEnded) this.cancel(sequence, 'failed', error);
  }

  #lose(error: Error): void {
    if (this.#ended) return;
    this.end(error);
    this.#options.onLost(error);
  }

  /** The KV of an ended sequence goes. Steps in flight for it still resolve, by contract. */
  #release(sequence: Sequence): void {
    this.#running.delete(sequence);
    const id = sequence.backendId;
    sequence.backendId = undefined;
    if (id === undefined) return;
    try {
      if (sequence.outcome !== 'failed') this.#options.cache?.keep(id, sequence.tokens);
      this.#backend.closeSequence(id);
    } catch (cause) {
      this.#lose(new TokenglassError('internal', 'Cannot go on: a sequence could not be closed', { cause }));
    }
  }
}
