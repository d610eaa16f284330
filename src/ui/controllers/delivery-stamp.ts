import type { RequestTrace } from '../../shared/trace.ts';

/** Notes when the page got the text of one request, and whether the page was hidden meanwhile. */
export class DeliveryStamp {
  readonly calledMs: number;
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  #hidden = document.visibilityState === 'hidden';
  readonly #handleVisibility = () => {
    if (document.visibilityState === 'hidden') this.#hidden = true;
  };

  constructor(calledMs: number) {
    this.calledMs = calledMs;
    document.addEventListener('visibilitychange', this.#handleVisibility);
  }

  /** Text arrived; true if it is the first. */
  onText(deliveredMs: number): boolean {
    const isFirst = this.#firstMs === undefined;
    this.#firstMs ??= deliveredMs;
    this.#lastMs = deliveredMs;
    return isFirst;
  }

  /** The trace with the page's marks in place of the engine's: the page is the caller here. */
  onto(trace: RequestTrace): RequestTrace {
    const marks = { ...trace.marks, calledMs: this.calledMs };
    if (this.#firstMs !== undefined) marks.firstDeliveredMs = this.#firstMs;
    if (this.#lastMs !== undefined) marks.lastDeliveredMs = this.#lastMs;
    return { ...trace, marks, hidden: trace.hidden || this.#hidden };
  }

  dispose(): void {
    document.removeEventListener('visibilitychange', this.#handleVisibility);
  }
}
