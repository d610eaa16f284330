/** Evidence from which on a bucket begins. */
const BUCKETS = [0, 3, 4, 5, 7, 10, 16, 32] as const;
/** What is assumed before anything is known: as if this share of so many drafts had turned out right. */
const PRIOR = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9] as const;
const PRIOR_WEIGHT = 3;
/** Trials after which older ones have lost half of their say: text changes its nature. */
const HALF_LIFE = 40;
const FADE = 0.5 ** (1 / HALF_LIFE);

/**
 * How often the first token of a draft turned out right, by the evidence for it. Learnt of drafts that were verified, and as well of those that were
 * not: what comes next tells whether they would have been right, at no cost.
 */
export class Acceptance {
  readonly #right = PRIOR.map((share) => share * PRIOR_WEIGHT);
  readonly #tried = PRIOR.map(() => PRIOR_WEIGHT);

  learn(evidence: number, isRight: boolean): void {
    const at = bucketOf(evidence);
    this.#right[at] = this.#right[at]! * FADE + (isRight ? 1 : 0);
    this.#tried[at] = this.#tried[at]! * FADE + 1;
  }

  /** The share that turned out right, 0 to 1: of this evidence, or of less where that did better, as more cannot mean less. */
  of(evidence: number): number {
    const own = bucketOf(evidence);
    let best = this.#right[own]! / this.#tried[own]!;
    for (let at = 0; at < own; at++) {
      // What is mostly assumed says nothing of another bucket.
      if (this.#tried[at]! > 2 * PRIOR_WEIGHT) best = Math.max(best, this.#right[at]! / this.#tried[at]!);
    }
    return best;
  }

  /**
   * For drafts of 1, 2, ... `most` tokens: the probability that all of them are right, each being evidence for the next.
   * @param unseen tokens on their way already, which have to be right too but are not drafts any more
   */
  chances(evidence: number, most: number, unseen = 0): number[] {
    const chances: number[] = [];
    let chance = 1;
    for (let i = 0; i < unseen + most; i++) {
      chance *= this.of(evidence + i);
      if (i >= unseen) chances.push(chance);
    }
    return chances;
  }
}

function bucketOf(evidence: number): number {
  let at = 0;
  while (at + 1 < BUCKETS.length && evidence >= BUCKETS[at + 1]!) at += 1;
  return at;
}
