import { TokenglassError } from '../../shared/errors.ts';
import { KV_BLOCK_TOKENS, type Backend, type SequenceId, type SequenceOptions } from '../backends/backend.ts';
import { queueFull } from '../request/refusals.ts';
import type { Sequence } from './sequence.ts';
import type { Speculator } from './speculation/speculator.ts';
import { byRank, outranks, WaitingList } from './waiting-list.ts';

interface AdmissionOptions {
  backend: Backend;
  maxRunning: number;
  maxQueued: number;
  /** Told when the KV of a sequence goes. */
  speculator?: Speculator;
  cache?: SchedulerCache;
  /** A sequence has come in, or could not. */
  onChange: () => void;
  /** A sequence cannot start; to be failed and removed. */
  onFailed: (sequence: Sequence, error: unknown) => void;
  /** The backend cannot be relied on any more. */
  onLost: (error: Error) => void;
}

/** The prefix cache, as the scheduler sees it. */
export interface SchedulerCache {
  /** Gives an empty sequence what is cached of the beginning of `tokens`, never all of them, and resolves to how many that are. */
  restore(
    id: SequenceId,
    request: { tokens: readonly number[]; promptTokens: number; isRepeat?: boolean },
  ): Promise<{ memoryTokens: number; storedTokens: number }>;
  /** Keeps the KV of a sequence that begins with `tokens` and is closed right after; steps that ran ahead of its stop may have appended more. */
  keep(id: SequenceId, tokens: readonly number[]): void;
}

/** Rounds of the loop in which KV that was just given up may turn up, before a sequence that runs alone has to try without. */
const PATIENCE = 50;

/**
 * Who waits and who runs. Lets sequences in by rank while there is room and KV for them, and has the last in rank give way where KV runs out
 * or one that waits is worth it.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #backend: Backend;
  readonly #waiting = new WaitingList<Sequence>();
  readonly #running = new Set<Sequence>();
  /** Sequences whose tokens were looked up in the cache: after a preemption they are again. */
  readonly #lookedUp = new WeakSet<Sequence>();
  /** Off the queue, and not running yet: its prompt is tokenized, or its KV restored. */
  #admitting: Sequence | undefined;
  #arrivals = 0;
  /** KV ran out: nobody is let in until somebody has left. */
  #isShort = false;
  #roundsShort = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#backend = options.backend;
  }

  /** Those that take part in steps: open in the backend. */
  get running(): ReadonlySet<Sequence> {
    return this.#running;
  }

  /** One is about to run. */
  get isAdmitting(): boolean {
    return this.#admitting !== undefined;
  }

  /** Sequences, running or not. */
  get size(): number {
    return this.#waiting.size + this.#running.size + (this.#admitting ? 1 : 0);
  }

  all(): Sequence[] {
    return [...this.#running, ...(this.#admitting ? [this.#admitting] : []), ...this.#waiting];
  }

  /** Queues a sequence, unless too many wait: then returns the error to fail it with. */
  add(sequence: Sequence): TokenglassError | undefined {
    const { maxRunning, maxQueued } = this.#options;
    if (this.size >= maxRunning + maxQueued) return queueFull(this.#waiting.size, maxQueued);
    sequence.arrival = ++this.#arrivals;
    this.#waiting.add(sequence);
    return undefined;
  }

  /**
   * Takes a sequence out that has ended: its KV goes. Steps in flight for it still resolve, by contract.
   * @param isSound its KV is as it should be, and may be of use to later requests
   */
  remove(sequence: Sequence, isSound: boolean): void {
    this.#waiting.delete(sequence);
    if (this.#running.delete(sequence)) this.#isShort = false;
    const id = sequence.backendId;
    sequence.backendId = undefined;
    if (id === undefined) return;
    const { speculator, cache, onLost } = this.#options;
    speculator?.close(sequence);
    try {
      if (isSound) cache?.keep(id, sequence.tokens);
      this.#backend.closeSequence(id);
    } catch (cause) {
      onLost(new TokenglassError('internal', 'Cannot go on: a sequence could not be closed', { cause }));
    }
  }

  /** Lets those in that there is room for, one after another. The others go on meanwhile, whatever these have to wait for. */
  admit(): void {
    if (this.#admitting) return;
    const sequence = this.#nextIn();
    if (!sequence) return;
    this.#waiting.delete(sequence);
    this.#admitting = sequence;
    void this.#start(sequence).finally(() => {
      this.#admitting = undefined;
      this.#options.onChange();
      // Where KV is short, what was given up may take a moment to be free: the loop asks again.
      if (!this.#isShort) this.admit();
    });
  }

  #nextIn(): Sequence | undefined {
    if (this.#isShort && this.#running.size > 0) return undefined;
    if (this.#running.size >= this.#options.maxRunning && !this.#giveWay()) return undefined;
    return this.#waiting.peek();
  }

  async #start(sequence: Sequence): Promise<void> {
    try {
      const options = await sequence.start();
      if (options) await this.#open(sequence, options);
      await sequence.pending;
    } catch (error) {
      this.#options.onFailed(sequence, error);
    }
  }

  async #open(sequence: Sequence, options: SequenceOptions): Promise<void> {
    const { cache } = this.#options;
    let id = this.#backend.openSequence(options);
    let cached: { memory: number; stored: number } | undefined;
    if (cache) {
      cached = { memory: 0, stored: 0 };
      const isRepeat = this.#lookedUp.has(sequence);
      this.#lookedUp.add(sequence);
      try {
        const { memoryTokens, storedTokens } = await cache.restore(id, { ...sequence.cacheable, isRepeat });
        cached = { memory: memoryTokens, stored: storedTokens };
      } catch {
        // The answer does not need the cache: begin again with a sequence that is surely empty.
        this.#backend.closeSequence(id);
        if (sequence.hasEnded) return;
        id = this.#backend.openSequence(options);
      }
    }
    const known = sequence.cacheable.tokens.length - (cached ? cached.memory + cached.stored : 0);
    if (sequence.hasEnded) this.#backend.closeSequence(id);
    else if (this.#hasRoomFor(id, known + Math.min(KV_BLOCK_TOKENS, sequence.tokensToCome))) {
      sequence.opened(id, cached);
      this.#running.add(sequence);
      this.#waiting.passed(sequence);
    } else {
      this.#backend.closeSequence(id);
      this.#isShort = true;
      this.#waiting.add(sequence);
    }
  }

  /** KV for the whole prompt, and some of the answer, so that what is let in also gets on. */
  #hasRoomFor(id: SequenceId, tokens: number): boolean {
    if (this.#backend.reserveKv(id, tokens)) return true;
    if (this.#running.size > 0) return false;
    return ++this.#roundsShort > PATIENCE;
  }

  /** Sets KV aside for a row. Where there is none, the last in rank gives up its own; what it had may take a moment to be free. */
  takeRoom(sequence: Sequence, tokens: number, mayPreempt: boolean): boolean {
    const id = sequence.backendId;
    if (id === undefined) return false;
    if (this.#backend.reserveKv(id, tokens)) {
      this.#roundsShort = 0;
      return true;
    }
    if (!mayPreempt) return false;
    if (this.#running.size === 1) return !this.#admitting && ++this.#roundsShort > PATIENCE;
    const last = this.#lastInRank()!;
    this.#isShort = true;
    this.preempt(last);
    return last !== sequence && this.#backend.reserveKv(id, tokens);
  }

  /**
   * A prompt is kept as soon as it is computed, for the case that the answer is cut short; but only where steps in flight hide what
   * that costs.
   */
  keepPrompt(sequence: Sequence): void {
    if (sequence.backendId === undefined || this.#backend.info.capabilities.runAhead < 2) return;
    this.#options.cache?.keep(sequence.backendId, sequence.cacheable.tokens);
  }

  /** The last in rank stops for one that waits, if that is worth it. */
  #giveWay(): boolean {
    const last = this.#lastInRank();
    const next = this.#waiting.peek();
    if (!last || !next || !outranks(next, last)) return false;
    this.preempt(last);
    return true;
  }

  #lastInRank(): Sequence | undefined {
    return [...this.#running].sort(byRank).at(-1);
  }

  /** Its KV goes, into the cache as far as there is room, and it waits to go on later with the same tokens. */
  preempt(sequence: Sequence): void {
    const id = sequence.backendId!;
    this.#options.speculator?.close(sequence);
    this.#options.cache?.keep(id, sequence.tokens);
    sequence.preempted();
    this.#backend.closeSequence(id);
    this.#running.delete(sequence);
    this.#waiting.add(sequence);
  }
}
