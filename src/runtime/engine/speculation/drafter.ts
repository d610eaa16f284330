/** What is likely to follow the tokens of a sequence. */
export interface Draft {
  tokens: readonly number[];
  /**
   * How much speaks for it, by a scale of the drafter's own: drafts of equal evidence have turned out right equally often. For prompt lookup, how
   * many tokens before it are the same as where it was found.
   */
  evidence: number;
}

/** Proposes tokens for one sequence. Whatever it proposes, the answer stays the same: only the time it takes does not. */
export interface Drafter {
  /** Takes down tokens of the sequence, in order: prompt, then output. */
  append(tokens: readonly number[]): void;

  /** Up to `most` tokens after those taken down; nothing if it has no idea. */
  draft(most: number): Draft | undefined;
}
