import type { Priority } from '../../shared/generation.ts';
import type { StepRow } from '../backends/backend.ts';
import type { Sequence } from './sequence.ts';
import { byRank } from './waiting-list.ts';

/** What a step has room for. */
interface StepBudget {
  /** Rows: one for each sequence. */
  rows: number;
  /** Tokens of all rows. */
  tokens: number;
  /** Tokens of prompts, where others decode. */
  promptTokens: number;
}

/** A row, and whose it is. */
export interface StepEntry {
  sequence: Sequence;
  row: StepRow;
}

/** Whole steps of one prompt in flight: one computes while the next waits, and a cancel leaves at most those to finish. */
const MAX_PREFILLS_IN_FLIGHT = 2;
/** Shares of the prompt tokens of a step where several prompts are computed. */
const WEIGHTS: Readonly<Record<Priority, number>> = { high: 4, normal: 2, low: 1 };

/**
 * Decides what a step computes: first a row for each sequence that decodes, then pieces of prompts within the budget. Of several prompts the one
 * goes first that has had the least so far, by weight; a new one begins where the least served is, so that no stream of short
 * prompts can hold up a long one.
 */
export class StepPlanner {
  readonly #served = new Map<Sequence, number>();

  /** @param hasRoom sees to it that a sequence has KV for so many tokens more; false: not in this step */
  plan(
    running: Iterable<Sequence>,
    budget: StepBudget,
    hasRoom: (sequence: Sequence, tokens: number) => boolean,
  ): StepEntry[] {
    const ranked = [...running].sort(byRank);
    const entries: StepEntry[] = [];
    let left = budget.tokens;
    const give = (sequence: Sequence, tokens: number): number => {
      if (entries.length >= budget.rows || tokens < 1 || !hasRoom(sequence, tokens)) return 0;
      // Making room may have taken it out, or one that has its row already.
      const row = sequence.nextRow(tokens);
      if (!row) return 0;
      const taken = row.input === 'previous' ? 1 : row.input.length;
      entries.push({ sequence, row });
      left -= taken;
      return taken;
    };
    for (const sequence of ranked) {
      if (!sequence.isPrefilling) give(sequence, Math.min(sequence.nextTokens, left));
    }
    let prompt = ranked.some((sequence) => !sequence.isPrefilling) ? budget.promptTokens : Infinity;
    for (const sequence of this.#leastServed(ranked)) {
      const tokens = Math.min(sequence.nextTokens, left, prompt);
      const inFlight = sequence.prefillTokensInFlight + tokens;
      const taken = inFlight > MAX_PREFILLS_IN_FLIGHT * budget.tokens ? 0 : give(sequence, tokens);
      prompt -= taken;
      this.#served.set(sequence, this.#served.get(sequence)! + taken / WEIGHTS[sequence.priority]);
    }
    return entries.filter(({ sequence, row }) => sequence.backendId === row.sequence);
  }

  /** Those with a prompt to compute, the least served first. */
  #leastServed(ranked: readonly Sequence[]): Sequence[] {
    const prefilling = ranked.filter(({ isPrefilling }) => isPrefilling);
    for (const sequence of [...this.#served.keys()]) {
      if (!prefilling.includes(sequence)) this.#served.delete(sequence);
    }
    const least = Math.min(...this.#served.values());
    for (const sequence of prefilling) {
      if (!this.#served.has(sequence)) this.#served.set(sequence, Number.isFinite(least) ? least : 0);
    }
    return prefilling.sort((a, b) => this.#served.get(a)! - this.#served.get(b)! || byRank(a, b));
  }
}
