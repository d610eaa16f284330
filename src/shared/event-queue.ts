import { abortError } from './errors.ts';

/** What the consumer of an {@link EventQueue} leaves behind when it stops early. */
export interface EventQueueOptions {
  /** Called once when the consumer leaves before the end (`break`, `return`, a throw in its loop). */
  onAbandon?: () => void;
  /** Called once when the consumer has read the end or has left. */
  onFinished?: () => void;
  /** Once it is aborted, the next read throws an `AbortError` and what is queued is dropped, however far production has come. */
  signal?: AbortSignal;
}

/**
 * A single-consumer queue between a producer that never waits and an async iterator that may never come. Production does not
 * depend on consumption; what is not consumed is dropped when the consumer leaves.
 */
export class EventQueue<Event> implements AsyncIterable<Event>, AsyncIterator<Event, undefined> {
  #events: Event[] = [];
  #end: { error?: unknown } | undefined;
  #waiting: (() => void)[] = [];
  #abandoned = false;
  /** The end was read, or the consumer has left. */
  #closed = false;
  readonly #options: EventQueueOptions;

  constructor(options: EventQueueOptions = {}) {
    this.#options = options;
  }

  push(event: Event): void {
    if (this.#end || this.#abandoned) return;
    this.#events.push(event);
    this.#wake();
  }

  /** Ends the iteration after what is queued; with an argument, by throwing it. Only the first end counts. */
  end(...error: [] | [unknown]): void {
    if (this.#end) return;
    this.#end = error.length ? { error: error[0] } : {};
    this.#wake();
  }

  /**
   * Ends the iteration at once by throwing `error`: what is queued, an end that was not yet read included, is dropped. Without
   * effect once the consumer has left or has read the end.
   */
  abort(error: unknown): void {
    if (this.#closed) return;
    this.#events = [];
    this.#end = { error };
    this.#wake();
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    const { signal } = this.#options;
    for (;;) {
      if (signal?.aborted) this.abort(abortError(signal));
      const event = this.#events.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#abandoned) return { done: true, value: undefined };
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {}; // an iterator throws once, then is done
        this.#finish();
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- passed on as it came
        if (error !== undefined) throw error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    const early = !this.#abandoned && !this.#end;
    this.#abandoned = true;
    this.#events = [];
    this.#wake();
    if (early) this.#options.onAbandon?.();
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onFinished?.();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
