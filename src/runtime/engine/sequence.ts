import { TokenglassError } from '../../shared/errors.ts';
import type { EventQueue } from '../../shared/event-queue.ts';
import type { FinishReason, OutputToken, Priority, TokenEvent, Usage } from '../../shared/generation.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import type { SampledToken, SequenceId, SequenceOptions, StepRow, StepRowResult } from '../backends/backend.ts';
import type { GrammarState } from './grammar.ts';
import type { OutputText } from './output-text.ts';
import { countAccepted } from './speculation/accept-drafts.ts';
import type { SequenceDrafts } from './speculation/sequence-drafts.ts';
import type { DraftingSequence } from './speculation/speculator.ts';
import type { TraceRecord } from './trace-record.ts';
import type { Ranked } from './waiting-list.ts';

/** How a sequence ended. */
export type Outcome = 'completed' | 'aborted' | 'failed';

/** What a sequence needs to run, known once its prompt is tokenized. */
export interface SequencePlan {
  promptTokens: readonly number[];
  /** Output tokens of an answer that was cut short, which this one goes on with; they are computed like a prompt. @default none */
  resumed?: { tokens: readonly number[]; text: string };
  /** At least 1; the context is already considered. */
  maxTokens: number;
  /** Ids that end the answer. */
  stopIds: ReadonlySet<number>;
  options: SequenceOptions;
  text: OutputText;
  /** What the answer has to keep to; disposed of with the sequence. */
  grammar?: GrammarState;
  /** Bytes of a token, a copy; absent where nobody asked for them. */
  tokenBytes?: (id: number) => Uint8Array;
  /** See the `start` event. */
  promptTail?: string;
  /** Where tokens to come are looked up; absent where nothing is to be drafted. Not with a grammar, whose masks need one token at a time. */
  drafts?: SequenceDrafts;
  /** Called once the sequence runs: takes down its tokens, so that it can be gone on with. */
  journal?: () => { token(id: number): void; end(how: 'done' | 'cut'): void };
}

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
  /** The prompt, what is resumed after it, and after a preemption the output so far: all that can be computed without sampling. */
  #known: readonly number[] = [];
  /** Of the next token to be sampled. */
  #mask: Uint32Array<ArrayBuffer> | undefined;
  #pending: Promise<void> | undefined;
  #outcome: Outcome | undefined;
  #journal: ReturnType<NonNullable<SequencePlan['journal']>> | undefined;
  /** Output tokens that are in `#known`. */
  #knownOutput = 0;
  #wasOpened = false;
  /** Of `#known`, those that were given to the backend or were cached. */
  #givenKnown = 0;
  #prefillTokensInFlight = 0;
  /** Output ids whose results are there. */
  readonly #output: number[] = [];
  /** Samples asked of the backend, those in flight included; at most `maxTokens`. */
  #givenSamples = 0;
  /** What the next row is to verify. */
  #nextDrafts: readonly number[] = [];
  /** Tokens were dropped behind the latest one, so that the backend does not know it as its previous one. */
  #isCut = false;

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
    return [...this.#known.slice(0, this.#givenKnown), ...this.#output.slice(this.#knownOutput)];
  }

  /** Something known is still to be computed. */
  get isPrefilling(): boolean {
    return this.#givenKnown < this.#known.length;
  }

  /** It cannot be asked for a row before the result of the one before is there. */
  get needsResults(): boolean {
    return this.#plan?.grammar !== undefined;
  }

  /** Of known tokens, those that were given and are not computed yet. */
  get prefillTokensInFlight(): number {
    return this.#prefillTokensInFlight;
  }

  /** Tokens that the next row could have; 0 if results have to come first. */
  get nextTokens(): number {
    if (this.#plan === undefined || this.backendId === undefined || this.hasEnded) return 0;
    if (this.isPrefilling) return this.#known.length - this.#givenKnown;
    if (this.#givenSamples >= this.#plan.maxTokens) return 0;
    // What a grammar allows next depends on the token before, so nothing can run ahead of it.
    if (this.needsResults && this.#givenSamples > this.#output.length) return 0;
    return 1 + this.#nextDrafts.length;
  }

  get drafts(): SequenceDrafts | undefined {
    return this.#plan?.grammar ? undefined : this.#plan?.drafts;
  }

  get samplesInFlight(): number {
    return this.#givenSamples - this.#output.length;
  }

  get draftsMost(): number {
    return this.#plan ? Math.max(0, this.#plan.maxTokens - this.#givenSamples - 1) : 0;
  }

  get draftRequest(): DraftingSequence['draftRequest'] {
    return {
      options: this.#plan!.options,
      tokens: [...this.#known, ...this.#output.slice(this.#knownOutput)],
      promptTokens: this.#plan!.promptTokens.length,
    };
  }

  /** The next row verifies these. Only while no sample of it is in flight. */
  verifyNext(drafts: readonly number[]): void {
    this.#nextDrafts = drafts;
  }

  /** Tokens that it may still append to what is known. */
  get tokensToCome(): number {
    return this.#plan ? this.#plan.maxTokens - this.#output.length - 1 : 0;
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
    const { temperature, seed } = plan.options.sampling;
    this.#record.tokenized(plan.promptTokens.length, plan.resumed?.tokens.length);
    this.#record.sampledWith(temperature > 0 ? seed : undefined);
    this.#plan = plan;
    this.#known = plan.resumed ? [...plan.promptTokens, ...plan.resumed.tokens] : plan.promptTokens;
    this.#askForMask();
    return plan.options;
  }

  /** What is to be looked up in the prefix cache: all that is known before anything is sampled. */
  get cacheable(): { tokens: readonly number[]; promptTokens: number } {
    return { tokens: this.#known, promptTokens: this.#plan?.promptTokens.length ?? 0 };
  }

  /**
   * The backend has opened the sequence.
   * @param cached known tokens that it has KV of already; absent where no cache was looked up
   */
  opened(id: SequenceId, cached?: NonNullable<Usage['cachedByTier']>): void {
    this.backendId = id;
    this.#givenKnown = cached ? cached.memory + cached.stored : 0;
    if (this.#wasOpened) return;
    this.#wasOpened = true;
    if (cached) this.#record.cacheReady(cached);
    const { promptTail, resumed, journal } = this.#plan!;
    this.#journal = journal?.();
    this.#queue.push({
      type: 'start',
      requestId: this.#record.requestId,
      promptTokens: this.#known.length,
      cachedTokens: this.#givenKnown,
      ...(promptTail !== undefined && { promptTail }),
    });
    if (resumed && resumed.text !== '') this.#queue.push({ type: 'delta', text: resumed.text, tokens: [] });
  }

  /**
   * Its KV is gone, and its steps in flight do not count; once opened again it goes on with the tokens that it would have had. What is sampled
   * at a position depends on the tokens before and the seed alone.
   */
  preempted(): void {
    this.backendId = undefined;
    this.#record.preempted();
    this.#known = [...this.#known, ...this.#output.slice(this.#knownOutput)];
    this.#knownOutput = this.#output.length;
    this.#givenKnown = 0;
    this.#givenSamples = this.#output.length;
    this.#prefillTokensInFlight = 0;
    this.#nextDrafts = [];
    this.#isCut = false;
  }

  /** What to compute next, of at most `budget` tokens; nothing if results have to come first. Counts as given. */
  nextRow(budget: number): StepRow | undefined {
    const tokens = Math.min(budget, this.nextTokens);
    if (tokens < 1) return undefined;
    const sequence = this.backendId!;
    if (!this.isPrefilling) {
      const drafts = this.#nextDrafts.slice(0, tokens - 1);
      this.#nextDrafts = [];
      this.#givenSamples += 1 + drafts.length;
      if (drafts.length > 0 || this.#isCut) {
        this.#isCut = false;
        return { sequence, input: [this.#output.at(-1)!, ...drafts], sample: 'each', isPrompt: false };
      }
      return { sequence, input: 'previous', sample: true, isPrompt: false, ...this.#masked() };
    }
    // A row is of the prompt or of the answer, for the sake of the penalties.
    const { promptTokens } = this.cacheable;
    const isPrompt = this.#givenKnown < promptTokens;
    const end = Math.min(isPrompt ? promptTokens : this.#known.length, this.#givenKnown + tokens);
    const input = this.#known.slice(this.#givenKnown, end);
    this.#givenKnown = end;
    this.#prefillTokensInFlight += input.length;
    const sample = end === this.#known.length;
    if (sample) this.#givenSamples += 1;
    return { sequence, input, sample, isPrompt, ...(sample && this.#masked()) };
  }

  #masked(): Pick<StepRow, 'mask'> {
    return this.#mask ? { mask: this.#mask } : {};
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
   * @returns what came of the row's drafts, if it had any
   */
  accept(row: StepRow, result: StepRowResult | undefined, step: StepTrace, atMs: number): Verified | undefined {
    // Of before a preemption: it is sampled again.
    if (this.hasEnded || row.sequence !== this.backendId) return undefined;
    if (row.sample === 'each' && row.input !== 'previous') return this.#acceptVerified(row.input, result, atMs);
    if (row.input !== 'previous') {
      this.#prefillTokensInFlight -= row.input.length;
      if (this.#output.length === 0) this.#record.prefillStep(step, atMs);
      if (this.#output.length === 0 && row.sample) this.#record.prefilled(step, atMs);
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
    const right = countAccepted(
      drafts,
      sampled.map(({ token }) => token),
    );
    const rejected = drafts.length - right;
    this.#givenSamples -= rejected;
    this.#isCut = rejected > 0;
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
    return { drafted: drafts.length, accepted, rejected };
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
    const { token: id, logprob, topLogprobs } = result;
    this.#output.push(id);
    this.drafts?.append(id, () => this.#known);
    this.#journal?.token(id);
    this.#record.token(atMs);
    const { stopIds, text, maxTokens, tokenBytes, grammar } = this.#plan!;
    const token: OutputToken = {
      id,
      atMs,
      ...(logprob !== undefined && { logprob }),
      ...(topLogprobs !== undefined && {
        topLogprobs: tokenBytes ? topLogprobs.map((top) => ({ ...top, bytes: tokenBytes(top.id) })) : topLogprobs,
      }),
      ...(tokenBytes && { bytes: tokenBytes(id) }),
    };
    if (stopIds.has(id)) {
      this.#delta('', [token]);
      this.#complete('stop');
      return;
    }
    const match = this.#record.detokenizing(() => text.push(id));
    this.#delta(match.text, [token]);
    if (match.stopString !== undefined) this.#complete('stop', match.stopString);
    else if (this.#output.length >= maxTokens) this.#complete('length');
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

  #delta(text: string, tokens: readonly OutputToken[]): void {
    this.#record.delta(text);
    this.#queue.push({ type: 'delta', text, tokens });
  }

  /** @param stopString the one that ended the answer; without it, text that was held back is shown */
  #complete(finishReason: FinishReason, stopString?: string): void {
    let matched = stopString;
    let reason = finishReason;
    if (matched === undefined) {
      const tail = this.#plan!.text.flush();
      if (tail.text !== '') this.#delta(tail.text, []);
      matched = tail.stopString;
      if (matched !== undefined) reason = 'stop';
    }
    const trace = this.#record.finish();
    this.#queue.push({
      type: 'end',
      finishReason: reason,
      ...(matched !== undefined && { stopString: matched }),
      usage: trace.usage,
      trace,
    });
    this.#queue.end();
    this.#end('completed', trace);
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
