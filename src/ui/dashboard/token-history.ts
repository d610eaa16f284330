import type { RecordedStep } from '../../runtime/metrics/trace-log.ts';
import { stepParts, type StepDevice } from '../steps/step-parts.ts';
import type { TokenTick } from '../steps/ticks.ts';

/** A token as it was heard of. */
export interface HeardToken {
  atMs: number;
  id?: number;
  /** When the page had it. */
  deliveredMs?: number;
}

/** Step ends and token times are stamped one after the other; a step that ended at most this long after its token made it, ms. */
const STAMP_SLACK_MS = 0.5;

/** Tokens of the answer that is on or was the latest; of a very long one, the newest. */
export class TokenHistory {
  readonly #capacity: number;
  #tokens: (HeardToken & { afterPause: boolean })[] = [];
  #dropped = 0;
  #pausedUntilMs = -Infinity;
  #afterPause = false;

  /** @param capacity - tokens that are kept */
  constructor(capacity = 2048) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#tokens.length;
  }

  add(token: HeardToken): void {
    const inPause = token.atMs <= this.#pausedUntilMs;
    this.#tokens.push({ ...token, afterPause: inPause || this.#afterPause });
    this.#afterPause = inPause;
    if (this.#tokens.length < 2 * this.#capacity) return;
    // One more than is shown: the gap of the first one shown begins at it.
    this.#dropped += this.#tokens.length - this.#capacity - 1;
    this.#tokens = this.#tokens.slice(-this.#capacity - 1);
  }

  /** Gaps say nothing from now on: the page is hidden. */
  pause(): void {
    this.#pausedUntilMs = Infinity;
  }

  /** Gaps from a token after `atMs` on count again. */
  resume(atMs: number): void {
    this.#pausedUntilMs = atMs;
    this.#afterPause = true;
  }

  clear(): void {
    this.#tokens = [];
    this.#dropped = 0;
    this.#afterPause = false;
  }

  /**
   * The latest tokens as ticks.
   *
   * @param steps - decode steps in order of time, those of the tokens among them
   */
  ticks(steps: readonly RecordedStep[], device: StepDevice): TokenTick[] {
    const ticks: TokenTick[] = [];
    const from = Math.max(0, this.#tokens.length - this.#capacity);
    let next = 0;
    for (let at = from; at < this.#tokens.length; at += 1) {
      const { atMs, id, deliveredMs, afterPause } = this.#tokens[at]!;
      const before = at === 0 || afterPause ? undefined : this.#tokens[at - 1];
      let step: RecordedStep | undefined;
      // The last step that ended by then made the token; a step that made several is the first one's.
      for (; next < steps.length && steps[next]!.window.toMs <= atMs + STAMP_SLACK_MS; next += 1) step = steps[next];
      const made = step !== undefined && (before === undefined || step.window.toMs > before.atMs - STAMP_SLACK_MS);
      ticks.push({
        index: this.#dropped + at + 1,
        gapMs: before && atMs - before.atMs,
        id,
        deliveryMs: deliveredMs === undefined ? undefined : Math.max(0, deliveredMs - atMs),
        ...(step &&
          made && {
            parts: before ? stepParts(step, device) : undefined,
            contextTokens: step.step.contextTokens,
            batch: step.step.batch,
          }),
      });
    }
    return ticks;
  }
}
