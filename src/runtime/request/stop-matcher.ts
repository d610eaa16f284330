/** What may be shown after a piece of text, and the stop string that ended it, if one did. */
export interface StopMatch {
  text: string;
  stopString?: string;
}

/**
 * Finds stop strings in text that arrives in pieces, and holds back what may turn out to be the beginning of one. The result does not
 * depend on where the pieces are cut: the stop string that is complete first wins, and of two complete at once the longer one.
 */
export class StopMatcher {
  readonly #stops: readonly string[];
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** Text that is safe to show now. After a `stopString` nothing more is to be pushed. */
  push(piece: string): StopMatch {
    if (this.#stops.length === 0) return { text: piece };
    const text = this.#held + piece;
    const match = this.#firstComplete(text);
    if (match) {
      this.#held = '';
      return { text: text.slice(0, match.start), stopString: match.stop };
    }
    const heldLength = this.#heldLength(text);
    this.#held = text.slice(text.length - heldLength);
    return { text: text.slice(0, text.length - heldLength) };
  }

  /** What was held back, once it is known that nothing follows. */
  flush(): string {
    const text = this.#held;
    this.#held = '';
    return text;
  }

  #firstComplete(text: string): { start: number; stop: string } | undefined {
    let best: { start: number; end: number; stop: string } | undefined;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0) continue;
      const end = start + stop.length;
      if (!best || end < best.end || (end === best.end && start < best.start)) best = { start, end, stop };
    }
    return best;
  }

  /** Length of the longest suffix of `text` with which some stop string begins. */
  #heldLength(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
