import type { TokenEvent } from '../../shared/generation.ts';

export interface MovableAnswerOptions {
  /** The answer that was asked for; absent while there is nobody to ask. */
  now: AsyncIterable<TokenEvent> | undefined;
  /** Asks anew, of whoever comes next. */
  next: () => Promise<AsyncIterable<TokenEvent>>;
  /** Whether this error ends an answer that may be asked for anew. */
  canMove: (error: unknown) => boolean;
}

/** An answer that is asked for again, elsewhere, if it ends before it has begun; unseen by who reads it. */
export class MovableAnswer implements AsyncIterable<TokenEvent>, AsyncIterator<TokenEvent, undefined> {
  readonly #options: MovableAnswerOptions;
  #events: Promise<AsyncIterator<TokenEvent, undefined>>;
  #hasBegun = false;
  #isLeft = false;

  constructor(options: MovableAnswerOptions) {
    this.#options = options;
    this.#events = this.#open(options.now ? Promise.resolve(options.now) : options.next());
  }

  async next(): Promise<IteratorResult<TokenEvent, undefined>> {
    for (;;) {
      const events = await this.#events;
      try {
        const result = await events.next();
        this.#hasBegun = true;
        return result;
      } catch (error) {
        if (this.#hasBegun || this.#isLeft || !this.#options.canMove(error)) throw error;
        this.#events = this.#open(this.#options.next());
      }
    }
  }

  async return(): Promise<IteratorResult<TokenEvent, undefined>> {
    this.#isLeft = true;
    const leave = this.#events.then((events) => events.return?.());
    // One that is still to be asked for is left as soon as it is there.
    if (this.#hasBegun) await leave.catch(() => undefined);
    else leave.catch(() => undefined);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #open(answer: Promise<AsyncIterable<TokenEvent>>): Promise<AsyncIterator<TokenEvent, undefined>> {
    const events = answer.then((iterable) => iterable[Symbol.asyncIterator]() as AsyncIterator<TokenEvent, undefined>);
    events.catch(() => undefined); // told by the next read
    return events;
  }
}
