import type { Draft, Drafter } from './drafter.ts';
import { NgramIndex } from './ngram-index.ts';

/** Below two tokens a match says nothing; from four on the longest suffix is found by going on with the match. */
const SIZES = [4, 3, 2] as const;

/**
 * Drafts what followed the last time that the sequence's latest tokens occurred in prompt or output (Saxena, "Prompt Lookup Decoding", 2023): text that quotes,
 * code that is edited, JSON with the same keys. No model, and next to no time.
 *
 * The longest n-gram wins, then the latest occurrence. A match that has gone on for longer than that is kept, as what it has in common
 * with the end is longer than any n-gram tells.
 */
export class PromptLookup implements Drafter {
  readonly #index = new NgramIndex(SIZES);
  /** Index of the token expected next, and how many before it are the same. */
  #run: { at: number; length: number } | undefined;

  append(tokens: readonly number[]): void {
    for (const token of tokens) this.#append(token);
  }

  draft(most: number): Draft | undefined {
    const run = this.#run;
    if (!run || most < 1) return undefined;
    const { tokens } = this.#index;
    const drafted: number[] = [];
    // Past the end the draft itself is what was there: a text that repeats itself goes on repeating.
    for (let i = run.at; drafted.length < most; i++) drafted.push(tokens[i] ?? drafted[i - tokens.length]!);
    return { tokens: drafted, evidence: run.length };
  }

  #append(token: number): void {
    const run = this.#run;
    const goesOn = run !== undefined && this.#index.tokens[run.at] === token;
    this.#index.append(token);
    if (goesOn) {
      run.at += 1;
      run.length += 1;
      if (run.length >= SIZES[0]) return;
    }
    const match = this.#index.match;
    if (match) this.#run = { at: match.after, length: match.size };
    else if (!goesOn) this.#run = undefined;
  }
}
