import { planDrafts, type DraftPlan, type DraftPromise } from './plan-drafts.ts';
import { VerifyPace } from './verify-pace.ts';

/** How much more than plain decoding drafts must promise: what it costs to change over is not in the estimates. */
const MARGIN = 1.1;
/** What a probe must promise, if steps cost what is hoped for. */
const PROBE_MARGIN = 1.5;
/** Output tokens from one probe to the next, doubled each time that nothing came of it. */
const FIRST_PROBE = 64;
const LAST_PROBE = 4096;

/**
 * Whether drafts of one kind pay: where more tokens per ms are expected of a step that verifies them than of plain decoding. Where they do
 * not they are off, and tried now and then, as both what is measured and what is drafted may change.
 */
export class DraftPolicy {
  readonly pace = new VerifyPace();
  #tokensSinceVerified = 0;
  #probeAfter = FIRST_PROBE;
  #isProbe = false;

  /**
   * The best plan, if it beats plain decoding, or if it might and it is time to find out.
   * @param hopes what the sequences promise at best, for a probe; @default the same
   */
  choose(
    promises: readonly DraftPromise[],
    rowsMost: number,
    plainMs: number,
    hopes: readonly DraftPromise[] = promises,
  ): DraftPlan | undefined {
    const count = promises.length;
    const plainRate = count / plainMs;
    const best = planDrafts(promises, rowsMost, (rows) => this.pace.verifyMs(rows, count, plainMs));
    this.#isProbe = best.rate < plainRate * MARGIN;
    if (!this.#isProbe) return best;
    if (this.#tokensSinceVerified < this.#probeAfter) return undefined;
    const hoped = planDrafts(hopes, rowsMost, () => this.pace.hopedMs(plainMs));
    return hoped.rate < plainRate * PROBE_MARGIN ? undefined : hoped;
  }

  /** Output tokens came without such drafts. */
  passed(tokens: number): void {
    this.#tokensSinceVerified += tokens;
  }

  /** Such drafts were verified. */
  verified(rows: number, ms: number): void {
    this.pace.verifyStep(rows, ms);
    this.#tokensSinceVerified = 0;
    this.#probeAfter = this.#isProbe ? Math.min(LAST_PROBE, this.#probeAfter * 2) : FIRST_PROBE;
  }
}
