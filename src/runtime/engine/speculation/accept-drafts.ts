/**
 * How many drafts are right: those before the first that differs from what the target model sampled in its place, in its own distribution
 * and with its own noise. The token sampled instead of the wrong one is the answer's next token, and so is the one after the last draft.
 *
 * For drafts that do not depend on the target's noise this is the rejection rule of speculative sampling (Leviathan et al., arXiv 2211.17192): a draft x is
 * kept with probability p(x), and else the token comes from p without x, normalised. See docs/decisions/0003-speculative-decoding.md.
 *
 * @param sampled after the token before the drafts, and after each draft
 */
export function countAccepted(drafts: readonly number[], sampled: readonly number[]): number {
  let count = 0;
  while (count < drafts.length && drafts[count] === sampled[count]) count += 1;
  return count;
}
