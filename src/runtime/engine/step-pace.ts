import { percentile } from '../metrics/percentile.ts';

/** What was measured of a step. */
export interface StepCost {
  /** Rows of sequences that decode. */
  decodeRows: number;
  /** Tokens of prompts. */
  prefillTokens: number;
  /** Without the time that it waited for the steps before it. */
  ms: number;
}

/** The latest steps of a kind, whose median is the estimate: one slow step (a tab in the background, a compile) does not count. */
const REMEMBERED = 9;
/** Where nothing is measured yet. Small, as a first piece too large would be felt. */
const FIRST_CHUNK = 16;
/** A prompt gets on, however slow its tokens are. */
const MIN_CHUNK = 8;
/** A result that came together with the one before says nothing of its step's own time. */
const TOGETHER = 0.2;

/**
 * How large a piece of a prompt may be while others decode. The cost of a step is taken for a + b x prompt tokens: a is what a step
 * without them takes, b the rest of one with them by their number.
 */
export class StepPace {
  readonly #stretch: number;
  readonly #decodeMs: number[] = [];
  readonly #tokenMs: number[] = [];
  /** The largest piece measured: estimates are not trusted for more than twice of it. */
  #largest = FIRST_CHUNK / 2;

  /** @param stretch how many times as long a step may take with a piece of a prompt in it */
  constructor(stretch: number) {
    this.#stretch = stretch;
  }

  observe({ decodeRows, prefillTokens, ms }: StepCost): void {
    const decodeMs = percentile(this.#decodeMs, 50);
    if (decodeMs !== undefined && ms < decodeMs * TOGETHER) return;
    if (prefillTokens === 0) remember(this.#decodeMs, ms);
    else if (decodeRows === 0) remember(this.#tokenMs, ms / prefillTokens);
    else if (decodeMs !== undefined) {
      remember(this.#tokenMs, Math.max(0, ms - decodeMs) / prefillTokens);
      this.#largest = Math.max(this.#largest, prefillTokens);
    }
  }

  /** Tokens of a prompt that a step may take beside rows that decode. */
  chunkTokens(): number {
    if (this.#stretch === Infinity) return Infinity;
    const decodeMs = percentile(this.#decodeMs, 50);
    const tokenMs = percentile(this.#tokenMs, 50);
    if (decodeMs === undefined || tokenMs === undefined) return FIRST_CHUNK;
    const fitting = Math.floor(((this.#stretch - 1) * decodeMs) / Math.max(tokenMs, Number.MIN_VALUE));
    return Math.max(MIN_CHUNK, Math.min(fitting, 2 * this.#largest));
  }
}

function remember(samples: number[], sample: number): void {
  samples.push(sample);
  if (samples.length > REMEMBERED) samples.shift();
}
