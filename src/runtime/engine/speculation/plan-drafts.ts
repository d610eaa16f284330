/** A sequence that is to decode, and what its draft promises. */
export interface DraftPromise {
  /** For drafts of 1, 2, ... tokens: the probability that all of them are right. */
  chances: readonly number[];
}

export interface DraftPlan {
  /** Draft tokens of each sequence. */
  counts: readonly number[];
  /** Tokens per ms that are expected of the step. */
  rate: number;
}

/**
 * How many draft tokens each sequence is to have in a step, so that the most tokens per ms are expected: a right draft is a token more, and every row
 * makes the step longer.
 * @param rowsMost tokens of a step that verifies, all sequences together
 * @param stepMs of a step of so many rows
 */
export function planDrafts(
  sequences: readonly DraftPromise[],
  rowsMost: number,
  stepMs: (rows: number) => number,
): DraftPlan {
  const counts = sequences.map(() => 0);
  let best: DraftPlan = { counts: [...counts], rate: 0 };
  let expected = sequences.length;
  for (let rows = sequences.length + 1; rows <= rowsMost; rows++) {
    // The next token of one draft, of the sequence where it is most likely; chances fall along a draft, so that this order is the best one.
    let chosen = -1;
    let chance = 0;
    for (const [index, { chances }] of sequences.entries()) {
      const next = chances[counts[index]!] ?? 0;
      if (next > chance) [chosen, chance] = [index, next];
    }
    if (chosen < 0) break;
    counts[chosen]! += 1;
    expected += chance;
    const rate = expected / stepMs(rows);
    if (rate > best.rate) best = { counts: [...counts], rate };
  }
  return best;
}
