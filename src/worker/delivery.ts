import type { Clock } from '../shared/clock.ts';
import type { TokenEvent } from '../shared/generation.ts';
import { wasPageHidden } from '../shared/page-hidden.ts';
import type { RequestTrace } from '../shared/trace.ts';

/**
 * Adds to a request's trace what only the caller's realm knows: when the call was made, when deltas arrived, and whether the page was
 * hidden meanwhile.
 */
export class DeliveryStamps {
  readonly calledMs: number;
  readonly #clock: Clock;
  #firstDeliveredMs: number | undefined;
  #lastDeliveredMs: number | undefined;
  #hidden: boolean;
  #isOld: boolean;

  /** @param isResumed the first text, before any token, is of an earlier run */
  constructor(clock: Clock, calledMs: number, isResumed = false) {
    this.#clock = clock;
    this.calledMs = calledMs;
    this.#isOld = isResumed;
    this.#hidden = wasPageHidden(calledMs);
  }

  /** To be called for each event when its message is handled, before the consumer sees it. */
  onEvent(event: TokenEvent): void {
    this.#look();
    if (event.type !== 'delta') return;
    this.#isOld &&= event.tokens.length === 0;
    if (this.#isOld) return;
    const nowMs = this.#clock.now();
    this.#lastDeliveredMs = nowMs; // also a delta that carries an end token and no text: TPOT counts that token
    if (event.text !== '') this.#firstDeliveredMs ??= nowMs;
  }

  stamp(trace: RequestTrace): RequestTrace {
    this.#look();
    const marks = { ...trace.marks, calledMs: this.calledMs };
    if (this.#firstDeliveredMs !== undefined) marks.firstDeliveredMs = this.#firstDeliveredMs;
    if (this.#lastDeliveredMs !== undefined) marks.lastDeliveredMs = this.#lastDeliveredMs;
    return { ...trace, marks, hidden: trace.hidden || this.#hidden };
  }

  #look(): void {
    this.#hidden ||= wasPageHidden(this.calledMs);
  }
}
