/** What the consumer of an {@link EventQueue} leaves behind when it stops early. */
export interface EventQueueOptions {
  /** Called once when the consumer leaves before the end (`break`, `return`, a throw in its loop). */
  onAbandon?: () => void;
}

/**
 * A single-consumer queue between a producer that never waits and an async iterator that may never come. Production does not
 * depend on consumption; what is not consumed is dropped when the consumer leaves.
 */
export class EventQueue<Event> implements AsyncIterable<Event>, AsyncIterator<Event, undefined> {
  #events: Event[] = [];
  #end: { error?: unknown } | undefined;
  #waiting: (() => void) | undefined;
  #abandoned = false;
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

  async next(): Promise<IteratorResult<Event, undefined>> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#abandoned) return { done: true, value: undefined };
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {}; // an iterator throws once, then is done
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- passed on as it came
        if (error !== undefined) throw error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    const early = !this.#abandoned && !this.#end;
    this.#abandoned = true;
    this.#events = [];
    this.#wake();
    if (early) this.#options.onAbandon?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
