import { TokenglassError } from '../../shared/errors.ts';
import type { EventQueue } from '../../shared/event-queue.ts';
import type { FinishReason, Priority, TokenEvent, Usage } from '../../shared/generation.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { SampledToken, SequenceId, SequenceOptions, StepRow, StepRowResult } from '../backends/backend.ts';
import { AnswerEvents } from './answer-events.ts';
import type { GrammarState } from '../text/grammar/grammar.ts';
import type { SequencePlan } from './sequence-plan.ts';
import { SequenceTokens } from './sequence-tokens.ts';
import type { SequenceDrafts } from './speculation/sequence-drafts.ts';
import type { DraftingSequence } from './speculation/speculator.ts';
import type { TraceRecord } from '../request/trace-record.ts';
import type { Ranked } from './waiting-list.ts';

/** How a sequence ended. */
export type Outcome = 'completed' | 'aborted' | 'failed';

export interface SequenceOptionsBag {
  record: TraceRecord;
  queue: EventQueue<TokenEvent>;
  /** Tokenizes, checks against the context. Called when the sequence is taken off the queue. */
  prepare: () => SequencePlan | Promise<SequencePlan>;
  onEnded: (outcome: Outcome, trace: RequestTrace) => void;
  /** @default 'normal' */
  priority?: Priority;
  /** When it is too late (see `Clock`), and how long after the call that is. @default never */
  timeout?: { deadlineMs: number; afterMs: number };
}

/** What came of the drafts of a row. */
export interface Verified {
  drafted: number;
  /** Those that are part of the output: right, and not behind its end. */
  accepted: number;
  /** Those that were wrong. The backend has appended them, and is to drop them again. */
  rejected: number;
}

/** One request on its way through the scheduler: says what it wants from the next step, and turns results into events. */
export class Sequence implements Ranked, DraftingSequence {
  /** Names it to the backend while it runs. */
  backendId: SequenceId | undefined;
  readonly priority: Priority;
  readonly timeout: SequenceOptionsBag['timeout'];
  arrival = 0;
  overtaken = 0;
  readonly #record: TraceRecord;
  readonly #queue: EventQueue<TokenEvent>;
  readonly #prepare: SequenceOptionsBag['prepare'];
  readonly #onEnded: SequenceOptionsBag['onEnded'];
  #plan: SequencePlan | undefined;
  /** Made with the plan. */
  #answer: AnswerEvents | undefined;
  /** None before the prompt is tokenized. */
  #tokens = new SequenceTokens({ promptTokens: [], maxTokens: 0 });
  /** Of the next token to be sampled. */
  #mask: Uint32Array<ArrayBuffer> | undefined;
  #pending: Promise<void> | undefined;
  #outcome: Outcome | undefined;
  #journal: ReturnType<NonNullable<SequencePlan['journal']>> | undefined;
  #wasOpened = false;

  constructor({ record, queue, prepare, onEnded, priority, timeout }: SequenceOptionsBag) {
    this.#record = record;
    this.#queue = queue;
    this.#prepare = prepare;
    this.#onEnded = onEnded;
    this.priority = priority ?? 'normal';
    this.timeout = timeout;
  }

  /** What `nextRow` has to wait for, besides results: the mask of the next token. Rejects where the grammar cannot go on. */
  get pending(): Promise<void> | undefined {
    return this.#pending;
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  /** Absent while it runs. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Prompt and output tokens given so far; what steps that ran ahead of a stop have appended to the KV lies beyond. */
  get tokens(): number[] {
    return this.#tokens.given;
  }

  /** Something known is still to be computed. */
  get isPrefilling(): boolean {
    return this.#tokens.isPrefilling;
  }

  /** It cannot be asked for a row before the result of the one before is there. */
  get needsResults(): boolean {
    return this.#plan?.grammar !== undefined;
  }

  /** Of known tokens, those that were given and are not computed yet. */
  get prefillTokensInFlight(): number {
    return this.#tokens.prefillInFlight;
  }

  /** Tokens that the next row could have; 0 if results have to come first. */
  get nextTokens(): number {
    if (this.backendId === undefined || this.hasEnded) return 0;
    // What a grammar allows next depends on the token before, so nothing can run ahead of it.
    return this.needsResults && this.samplesInFlight > 0 ? 0 : this.#tokens.next;
  }

  get drafts(): SequenceDrafts | undefined {
    return this.#plan?.grammar ? undefined : this.#plan?.drafts;
  }

  get samplesInFlight(): number {
    return this.#tokens.samplesInFlight;
  }

  get draftsMost(): number {
    return this.#tokens.draftsMost;
  }

  get draftRequest(): DraftingSequence['draftRequest'] {
    return {
      options: this.#plan!.options,
      tokens: this.#tokens.all,
      promptTokens: this.#tokens.promptLength,
    };
  }

  /** The next row verifies these. Only while no sample of it is in flight. */
  verifyNext(drafts: readonly number[]): void {
    this.#tokens.verifyNext(drafts);
  }

  /** Tokens that it may still append to what is known. */
  get tokensToCome(): number {
    return this.#tokens.toCome;
  }

  /** Off the queue: tokenizes, the first time. Resolves to what the backend is to open, or to nothing if the sequence ended meanwhile. */
  async start(): Promise<SequenceOptions | undefined> {
    if (this.#plan) return this.#plan.options;
    this.#record.started();
    const plan = await this.#prepare();
    if (this.hasEnded) {
      plan.grammar?.dispose();
      return undefined;
    }
    const { promptTokens, resumed, maxTokens } = plan;
    const { temperature, seed } = plan.options.sampling;
    this.#record.tokenized(promptTokens.length, resumed?.tokens.length);
    this.#record.sampledWith(temperature > 0 ? seed : undefined);
    this.#plan = plan;
    this.#answer = new AnswerEvents(this.#record, this.#queue, plan);
    this.#tokens = new SequenceTokens({ promptTokens, maxTokens, ...(resumed && { resumedTokens: resumed.tokens }) });
    this.#askForMask();
    return plan.options;
  }

  /** What is to be looked up in the prefix cache: all that is known before anything is sampled. */
  get cacheable(): { tokens: readonly number[]; promptTokens: number } {
    return { tokens: this.#tokens.known, promptTokens: this.#tokens.promptLength };
  }

  /**
   * The backend has opened the sequence.
   * @param cached known tokens that it has KV of already; absent where no cache was looked up
   */
  opened(id: SequenceId, cached?: NonNullable<Usage['cachedByTier']>): void {
    this.backendId = id;
    const cachedTokens = cached ? cached.memory + cached.stored : 0;
    this.#tokens.opened(cachedTokens);
    if (this.#wasOpened) return;
    this.#wasOpened = true;
    if (cached) this.#record.cacheReady(cached);
    this.#journal = this.#plan!.journal?.();
    this.#answer!.start(this.#tokens.known.length, cachedTokens);
  }

  /**
   * Its KV is gone, and its steps in flight do not count; once opened again it goes on with the tokens that it would have had. What is sampled
   * at a position depends on the tokens before and the seed alone.
   */
  preempted(): void {
    this.backendId = undefined;
    this.#record.preempted();
    this.#tokens.preempted();
  }

  /** What to compute next, of at most `budget` tokens; nothing if results have to come first. Counts as given. */
  nextRow(budget: number): StepRow | undefined {
    const tokens = Math.min(budget, this.nextTokens);
    if (tokens < 1) return undefined;
    const row = this.#tokens.giveRow(tokens);
    return { sequence: this.backendId!, ...row, ...(row.sample === true && this.#mask && { mask: this.#mask }) };
  }

  #askForMask(): void {
    this.#pending = this.#plan?.grammar?.mask().then((mask) => {
      this.#mask = mask;
      this.#pending = undefined;
    });
    this.#pending?.catch(() => undefined); // told to whoever waits
  }

  /**
   * The result of a row, in the order the rows were given. Results after the end are discarded and not counted.
   * @param time when it was there, and how long its step took on top of those before it, ms
   * @returns what came of the row's drafts, if it had any
   */
  accept(
    row: StepRow,
    result: StepRowResult | undefined,
    step: StepTrace,
    { atMs, ownMs }: { atMs: number; ownMs: number },
  ): Verified | undefined {
    // Of before a preemption: it is sampled again.
    if (this.hasEnded || row.sequence !== this.backendId) return undefined;
    if (row.sample === 'each' && row.input !== 'previous') return this.#acceptVerified(row.input, result, atMs);
    if (row.input !== 'previous') {
      const isFirst = this.#tokens.outputLength === 0;
      this.#tokens.prefilled(row.input.length);
      if (isFirst) this.#record.prefillStep(ownMs);
      if (isFirst && row.sample) this.#record.prefilled(step, atMs, ownMs);
    }
    if (row.sample) this.#acceptToken(result, atMs);
    return undefined;
  }

  /** The drafts that are right, and the token that the target model has after them. */
  #acceptVerified(input: readonly number[], result: StepRowResult | undefined, atMs: number): Verified {
    const sampled = result?.tokens;
    if (sampled?.length !== input.length)
      throw new TokenglassError('internal', 'Cannot go on: the backend did not give a token for each one of a row');
    const drafts = input.slice(1);
    const right = this.#tokens.verify(
      drafts,
      sampled.map(({ token }) => token),
    );
    this.#record.drafted(drafts.length);
    let accepted = 0;
    for (const [index, token] of sampled.slice(0, right + 1).entries()) {
      if (this.hasEnded) break;
      if (index < right) {
        accepted += 1;
        this.#record.draftAccepted();
      }
      this.#acceptToken(token, atMs);
    }
    return { drafted: drafts.length, accepted, rejected: drafts.length - right };
  }

  /** Ends the sequence with an error; without effect if it has ended. */
  fail(outcome: 'aborted' | 'failed', error: unknown): void {
    if (this.hasEnded) return;
    this.#end(outcome, this.#record.finish());
    if (outcome === 'aborted') this.#queue.abort(error);
    else this.#queue.end(error);
  }

  #acceptToken(result: Partial<SampledToken> | undefined, atMs: number): void {
    if (result?.token === undefined)
      throw new TokenglassError('internal', 'Cannot go on: the backend gave no token for a row that asked for one');
    const { token: id } = result;
    this.#tokens.append(id);
    this.drafts?.append(id, () => this.#tokens.known);
    this.#journal?.token(id);
    this.#record.token(atMs);
    const stop = this.#answer!.token(id, result, atMs);
    const { grammar } = this.#plan!;
    if (stop) this.#complete('stop', stop.stopString);
    else if (this.#tokens.isFull) this.#complete('length');
    else if (grammar) this.#advance(grammar, id);
  }

  #advance(grammar: GrammarState, id: number): void {
    if (!grammar.accept(id))
      throw new TokenglassError(
        'internal',
        `Cannot go on: the backend sampled the token ${id}, which the grammar bans`,
      );
    if (grammar.isDone) this.#complete('stop');
    else this.#askForMask();
  }

  #complete(reason: FinishReason, stopString?: string): void {
    this.#end('completed', this.#answer!.complete(reason, stopString));
  }

  #end(outcome: Outcome, trace: RequestTrace): void {
    this.#outcome = outcome;
    // One that was to go on and did not come to it is still this engine's to end.
    if (!this.#journal && this.#plan?.resumed) this.#journal = this.#plan.journal?.();
    this.#journal?.end(outcome === 'failed' ? 'cut' : 'done');
    this.#plan?.grammar?.dispose();
    this.#onEnded(outcome, trace);
  }
}
