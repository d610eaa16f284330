import { Acceptance } from './acceptance.ts';
import { PromptLookup } from './prompt-lookup.ts';

/** What is drafted for one sequence by looking it up, and how that turns out. */
export class SequenceDrafts {
  readonly #lookup = new PromptLookup();
  readonly #acceptance = new Acceptance();
  #hasBegun = false;

  /**
   * Takes down an output token, and learns from it whether what would have been drafted in its place was right: no step is needed for that.
   * @param known all tokens before the first output token; read at the first call only
   */
  append(token: number, known: () => readonly number[]): void {
    if (!this.#hasBegun) this.#lookup.append(known());
    this.#hasBegun = true;
    const draft = this.#lookup.draft(1);
    if (draft) this.#acceptance.learn(draft.evidence, draft.tokens[0] === token);
    this.#lookup.append([token]);
  }

  /**
   * What may be drafted after the tokens that are known, and for each length the probability that all of it is right.
   * @param unseen tokens that steps in flight are about to give, of which the draft goes on
   */
  promise(most: number, unseen: number): { tokens: readonly number[]; chances: readonly number[] } | undefined {
    const draft = most > 0 ? this.#lookup.draft(unseen + most) : undefined;
    return (
      draft && { tokens: draft.tokens.slice(unseen), chances: this.#acceptance.chances(draft.evidence, most, unseen) }
    );
  }
}
