import type { TokenDecoder } from '../text/token-decoder.ts';
import { StopMatcher, type StopMatch } from '../request/stop-matcher.ts';

/** The text of one answer: decoded token by token, up to the first stop string. */
export class OutputText {
  readonly #decoder: TokenDecoder;
  readonly #stops: StopMatcher;

  constructor(decoder: TokenDecoder, stops: readonly string[]) {
    this.#decoder = decoder;
    this.#stops = new StopMatcher(stops);
  }

  push(id: number): StopMatch {
    return this.#stops.push(this.#decoder.push(id));
  }

  /** What was held back, when nothing follows. */
  flush(): StopMatch {
    const tail = this.#stops.push(this.#decoder.flush());
    return tail.stopString === undefined ? { text: tail.text + this.#stops.flush() } : tail;
  }
}
