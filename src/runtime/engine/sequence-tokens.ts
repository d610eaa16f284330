import type { StepRow } from '../backends/backend.ts';
import { countAccepted } from './speculation/accept-drafts.ts';

interface SequenceTokensOptions {
  promptTokens: readonly number[];
  /** Output tokens of an answer that was cut short, computed like a prompt. @default none */
  resumedTokens?: readonly number[];
  /** Output tokens to come, at most. */
  maxTokens: number;
}

/**
 * The tokens of one sequence: which are known, which were given to the backend, which it has sampled. Makes rows of those to compute next,
 * and knows nothing of what becomes of the output.
 */
export class SequenceTokens {
  readonly promptLength: number;
  readonly #maxTokens: number;
  /** The prompt, what is resumed after it, and after a preemption the output so far: all that can be computed without sampling. */
  #known: readonly number[];
  /** Output tokens that are in `#known`. */
  #knownOutput = 0;
  /** Of `#known`, those that were given to the backend or were cached. */
  #givenKnown = 0;
  #prefillInFlight = 0;
  /** Output ids whose results are there. */
  readonly #output: number[] = [];
  /** Samples asked of the backend, those in flight included; at most `maxTokens`. */
  #givenSamples = 0;
  /** What the next row is to verify. */
  #nextDrafts: readonly number[] = [];
  /** Tokens were dropped behind the latest one, so that the backend does not know it as its previous one. */
  #isCut = false;

  constructor({ promptTokens, resumedTokens, maxTokens }: SequenceTokensOptions) {
    this.promptLength = promptTokens.length;
    this.#maxTokens = maxTokens;
    this.#known = resumedTokens ? [...promptTokens, ...resumedTokens] : promptTokens;
  }

  get known(): readonly number[] {
    return this.#known;
  }

  /** Known and sampled, whether the backend has them or not. */
  get all(): number[] {
    return [...this.#known, ...this.#output.slice(this.#knownOutput)];
  }

  /** Those given to the backend so far; what steps that ran ahead of a stop have appended to the KV lies beyond. */
  get given(): number[] {
    return [...this.#known.slice(0, this.#givenKnown), ...this.#output.slice(this.#knownOutput)];
  }

  get outputLength(): number {
    return this.#output.length;
  }

  /** As many as there may be were sampled. */
  get isFull(): boolean {
    return this.#output.length >= this.#maxTokens;
  }

  /** Something known is still to be computed. */
  get isPrefilling(): boolean {
    return this.#givenKnown < this.#known.length;
  }

  /** Of known tokens, those that were given and are not computed yet. */
  get prefillInFlight(): number {
    return this.#prefillInFlight;
  }

  get samplesInFlight(): number {
    return this.#givenSamples - this.#output.length;
  }

  /** Tokens that the next row could have. */
  get next(): number {
    if (this.isPrefilling) return this.#known.length - this.#givenKnown;
    return this.#givenSamples >= this.#maxTokens ? 0 : 1 + this.#nextDrafts.length;
  }

  /** Tokens that may still be appended to what is known. */
  get toCome(): number {
    return this.#maxTokens - this.#output.length - 1;
  }

  /** Drafts that the next row may verify. */
  get draftsMost(): number {
    return Math.max(0, this.#maxTokens - this.#givenSamples - 1);
  }

  /** The backend has the KV of so many known tokens. */
  opened(cached: number): void {
    this.#givenKnown = cached;
  }

  /** The KV is gone, and what is in flight does not count: all there is becomes known, and is to be given again. */
  preempted(): void {
    this.#known = this.all;
    this.#knownOutput = this.#output.length;
    this.#givenKnown = 0;
    this.#givenSamples = this.#output.length;
    this.#prefillInFlight = 0;
    this.#nextDrafts = [];
    this.#isCut = false;
  }

  /** The next row verifies these. Only while no sample is in flight. */
  verifyNext(drafts: readonly number[]): void {
    this.#nextDrafts = drafts;
  }

  /** A row of so many tokens, at least 1 and at most `next`. Counts as given. */
  giveRow(tokens: number): Pick<StepRow, 'input' | 'sample' | 'isPrompt'> {
    if (this.isPrefilling) return this.#givePrefill(tokens);
    const drafts = this.#nextDrafts.slice(0, tokens - 1);
    this.#nextDrafts = [];
    this.#givenSamples += 1 + drafts.length;
    if (drafts.length === 0 && !this.#isCut) return { input: 'previous', sample: true, isPrompt: false };
    this.#isCut = false;
    return { input: [this.#output.at(-1)!, ...drafts], sample: 'each', isPrompt: false };
  }

  #givePrefill(tokens: number): Pick<StepRow, 'input' | 'sample' | 'isPrompt'> {
    // A row is of the prompt or of the answer, for the sake of the penalties.
    const isPrompt = this.#givenKnown < this.promptLength;
    const end = Math.min(isPrompt ? this.promptLength : this.#known.length, this.#givenKnown + tokens);
    const input = this.#known.slice(this.#givenKnown, end);
    this.#givenKnown = end;
    this.#prefillInFlight += input.length;
    const sample = end === this.#known.length;
    if (sample) this.#givenSamples += 1;
    return { input, sample, isPrompt };
  }

  /** So many known tokens of a row given are computed. */
  prefilled(tokens: number): void {
    this.#prefillInFlight -= tokens;
  }

  /**
   * Compares drafts with what was sampled in their place; the wrong ones count as never given.
   * @returns how many are right
   */
  verify(drafts: readonly number[], sampled: readonly number[]): number {
    const right = countAccepted(drafts, sampled);
    const rejected = drafts.length - right;
    this.#givenSamples -= rejected;
    this.#isCut = rejected > 0;
    return right;
  }

  /** An output token. */
  append(id: number): void {
    this.#output.push(id);
  }
}
