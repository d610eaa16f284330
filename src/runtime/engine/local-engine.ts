import type { Clock } from '../../shared/clock.ts';
import { abortError, isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import { EventQueue } from '../../shared/event-queue.ts';
import type { ChatMessage, GenerateRequest, Priority, TokenEvent } from '../../shared/generation.ts';
import type { EngineInfo, SchedulingPolicy } from '../../shared/info.ts';
import type { PrefillResult, PrefixCache } from '../../shared/prefix-cache.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { Backend } from '../backends/backend.ts';
import type { ResumableAnswer } from '../../shared/resumable.ts';
import { Journal } from '../prefix-cache/journal.ts';
import { KvCache, type KvCacheOptions } from '../prefix-cache/kv-cache.ts';
import type { PromptInput } from '../text/encode-prompt.ts';
import { createTokenDecoder } from '../text/token-decoder.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import { invalid } from '../../shared/check.ts';
import { contextOverflow } from '../request/context-overflow.ts';
import type { Engine, EngineMetrics } from '../request/engine.ts';
import type { CompileGrammar } from '../text/grammar/grammar.ts';
import { MetricsEmitter } from '../request/metrics-emitter.ts';
import { OutputText } from './output-text.ts';
import { EnginePrefixCache } from '../prefix-cache/engine-prefix-cache.ts';
import { journalRequest, resumableAnswer, resumePlan } from './resume.ts';
import { mergeSampling, randomSeed, type SamplingDefaults } from '../request/sampling-defaults.ts';
import { Scheduler } from './scheduler.ts';
import type { SequencePlan } from './sequence-plan.ts';
import { Sequence, type Outcome } from './sequence.ts';
import type { Speculator } from './speculation/speculator.ts';
import { TraceRecord } from '../request/trace-record.ts';
import {
  validateInput,
  validateRequest,
  type CheckedRequest,
  type RequestInput,
  type RequestLimits,
} from '../request/validate-request.ts';

/** The parts of a {@link LocalEngine}. */
export interface LocalEngineParts {
  /** Owned by the engine from now on: disposed of with it. */
  backend: Backend;
  tokenizer: Tokenizer;
  /** Applies the chat template and tokenizes; at most one BOS, as the model wants it. */
  encodePrompt: (input: PromptInput) => readonly number[] | Promise<readonly number[]>;
  /** @default none: greedy */
  defaults?: SamplingDefaults;
  clock: Clock;
  info: EngineInfo;
  /** True if the page is hidden, or was since that time; a worker does not know, its client adds it. @default never */
  isHidden?: (sinceMs: number) => boolean;
  /** Makes grammars of answers; used where the backend takes masks. @default requests with a grammar are refused */
  compileGrammar?: CompileGrammar;
  /** An unsigned 32-bit integer for requests that sample and name no seed. @default from `crypto` */
  drawSeed?: () => number;
  /** Decides when drafts are verified; owned by the engine from now on. @default nothing is drafted */
  speculator?: Speculator;
  /** How steps are shared between requests, and how many may wait. @default `balanced`, 64 */
  scheduling?: { policy?: SchedulingPolicy; maxQueued?: number };
  /** Keeps KV for later requests, if the backend can export it. @default nothing is kept */
  prefixCache?: Omit<KvCacheOptions, 'backend' | 'now'>;
}

/** Our own loop over a {@link Backend}. @see Engine for what it promises */
export class LocalEngine implements Engine {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  readonly prefixCache?: PrefixCache;
  readonly resumable?: NonNullable<Engine['resumable']>;
  readonly resume?: NonNullable<Engine['resume']>;
  readonly discard?: NonNullable<Engine['discard']>;
  readonly #cache: KvCache | undefined;
  readonly #journal: Journal | undefined;
  readonly #parts: LocalEngineParts;
  readonly #limits: RequestLimits;
  readonly #emitter = new MetricsEmitter();
  readonly #scheduler: Scheduler;
  /** Requests whose end has not been reported to the metrics yet. */
  readonly #unreported = new Set<() => void>();
  readonly #idPrefix = `req-${randomSeed().toString(36)}`;
  #nextRequest = 1;
  #ended: Error | undefined;
  #disposal: Promise<void> | undefined;

  constructor(parts: LocalEngineParts) {
    const { backend, clock, info } = parts;
    const { model, capabilities } = backend.info;
    const hasCache = backend.kv !== undefined && parts.prefixCache !== undefined;
    const isResumable = hasCache && parts.prefixCache?.stored !== undefined;
    this.metrics = this.#emitter;
    this.#parts = parts;
    this.#limits = {
      vocabSize: model.vocabSize,
      contextTokens: model.contextTokens,
      maxLogprobs: capabilities.logprobs,
      grammar: capabilities.grammarMask && parts.compileGrammar !== undefined,
    };
    this.#cache = createKvCache(parts);
    if (this.#cache) this.prefixCache = this.#createPrefixCache(this.#cache);
    this.#journal = createJournal(parts);
    const journal = this.#journal;
    if (journal) {
      this.resumable = () => this.#resumable(journal);
      this.resume = (id, signal) => this.#resume(journal, id, signal);
      this.discard = (id) => journal.delete(id);
    }
    this.#scheduler = new Scheduler({
      backend,
      now: () => clock.now(),
      onStep: (step) => this.#emitter.emit('step', () => step),
      onLost: (error) => (this.#ended ??= error),
      ...parts.scheduling,
      ...(parts.speculator && { speculator: parts.speculator }),
      ...(this.#cache && { cache: this.#cache }),
    });
    const { policy, maxRunning, maxQueued } = this.#scheduler;
    this.info = {
      ...info,
      scheduling: { policy, maxBatch: maxRunning, maxQueued },
      ...(hasCache && { prefixCache: true }),
      ...(parts.speculator && { speculation: parts.speculator.method }),
      ...(isResumable && { resumable: true }),
    };
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const nowMs = this.#parts.clock.now();
    const checked = this.#check(request);
    if ('error' in checked) return this.#start({ calledMs: nowMs, ...checked }, signal);
    const { timeoutMs, priority, calledAtMs } = checked;
    const calledMs = Math.min(calledAtMs ?? nowMs, nowMs);
    const encode = this.#encodeOnce(checked.input);
    const prepare = (id: string): Promise<SequencePlan> => this.#prepare(checked, encode, id);
    return this.#start({ calledMs, prepare, encode, priority, ...(timeoutMs !== undefined && { timeoutMs }) }, signal);
  }

  async #resumable(journal: Journal): Promise<ResumableAnswer[]> {
    const entries = await journal.list().catch(() => []); // no IndexedDB, nothing to go on with
    return entries.map((entry) => resumableAnswer(entry, this.#parts.tokenizer));
  }

  #resume(journal: Journal, id: string, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const prepare = async (): Promise<SequencePlan> => {
      const entry = await journal.claim(id);
      if (!entry) throw invalid('id', 'names no answer that can go on', 'take one of resumable()');
      const plan = resumePlan(entry, this.#parts.tokenizer);
      const begin = () => journal.begin(id, entry.request, plan.resumed?.tokens);
      return { ...plan, ...this.#drafts(), journal: begin };
    };
    const nowMs = this.#parts.clock.now();
    return this.#start({ calledMs: nowMs, ...(this.#ended ? { error: this.#ended } : { prepare }) }, signal);
  }

  /** Queues a request, or fails it at once. */
  #start(request: Start, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const { calledMs, timeoutMs, priority } = request;
    const onAbort = (): void => {
      // With an error of ours for a reason, nobody has aborted: the caller is gone, and the answer is cut short.
      const reason: unknown = signal?.reason;
      if (isTokenglassError(reason)) this.#scheduler.cancel(sequence, 'failed', reason);
      else this.#scheduler.cancel(sequence, 'aborted', abortError(signal));
    };
    let report: (() => void) | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const queue = new EventQueue<TokenEvent>({
      onAbandon: onAbort,
      onFinished: () => report?.(),
      ...(signal && { signal }),
    });
    const id = `${this.#idPrefix}-${this.#nextRequest++}`;
    const sequence = new Sequence({
      record: new TraceRecord(id, calledMs, this.#parts.clock, this.#parts.isHidden ?? (() => false)),
      queue,
      prepare: () => request.prepare!(id),
      onEnded: (outcome, trace) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        report = this.#reporter(outcome, trace);
      },
      ...(priority && { priority }),
      ...(timeoutMs !== undefined && { timeout: { deadlineMs: calledMs + timeoutMs, afterMs: timeoutMs } }),
    });
    if ('error' in request) sequence.fail('failed', request.error);
    else if (signal?.aborted) sequence.fail('aborted', abortError(signal));
    else {
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#scheduler.enqueue(sequence);
      timer = this.#watchTime(sequence);
      this.#refuseEarly(sequence, request.encode);
    }
    return queue;
  }

  /** The loop looks at the time between steps; this is for requests that wait, and for steps that take long. */
  #watchTime({ timeout, hasEnded }: Sequence): ReturnType<typeof setTimeout> | undefined {
    if (!timeout || hasEnded) return undefined;
    // Rounded up: a timer may be early by less than a ms.
    const restMs = Math.ceil(timeout.deadlineMs - this.#parts.clock.now()) + 1;
    return restMs > MAX_TIMER_MS ? undefined : setTimeout(() => this.#scheduler.expire(), restMs);
  }

  /** A prompt that can never fit is refused at once, not when its turn has come. */
  #refuseEarly(sequence: Sequence, encode?: () => Promise<unknown>): void {
    if (!encode || sequence.hasEnded) return;
    setTimeout(() => {
      if (sequence.hasEnded) return;
      encode().catch((error: unknown) => this.#scheduler.cancel(sequence, 'failed', error));
    });
  }

  async countTokens(input: PromptInput): Promise<number> {
    if (this.#ended) throw this.#ended;
    const fields = typeof input === 'object' ? { ...(input as object) } : {};
    // Counting is what a page does to see whether a text fits, so one that does not is no error here.
    const checked = validateInput(fields, { ...this.#limits, contextTokens: Infinity });
    if ('promptTokens' in checked) return checked.promptTokens.length;
    return (await this.#parts.encodePrompt(checked)).length;
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #dispose(): Promise<void> {
    const error = new TokenglassError('disposed', 'Cannot generate: the engine was disposed of; create a new one');
    this.#ended = error;
    this.#scheduler.end(error);
    await Promise.all([this.#cache?.close(), this.#journal?.close()]);
    await Promise.all([this.#parts.backend.dispose(), this.#parts.speculator?.dispose()]);
    for (const report of [...this.#unreported]) report();
  }

  /** Errors surface from the iteration, so none is thrown here. */
  #check(request: GenerateRequest): CheckedRequest | { error: unknown } {
    if (this.#ended) return { error: this.#ended };
    try {
      return validateRequest(request, this.#limits);
    } catch (error) {
      return { error: isTokenglassError(error) ? error : invalid('request', 'cannot be read', 'give plain data') };
    }
  }

  #createPrefixCache(cache: KvCache): PrefixCache {
    return new EnginePrefixCache({
      cache,
      tokenizer: this.#parts.tokenizer,
      encode: async (messages) => {
        if (this.#ended) throw this.#ended;
        const input = validateInput({ messages }, this.#limits);
        return 'promptTokens' in input ? input.promptTokens : await this.#parts.encodePrompt(input);
      },
      prefill: (messages, signal) => this.#prefill(messages, signal),
      onClear: async () => this.#journal?.clear(),
    });
  }

  /** A request like any other, of one token that nobody sees; the metrics are not told of it. */
  async #prefill(messages: readonly ChatMessage[], signal?: AbortSignal): Promise<PrefillResult> {
    const onAbort = (): void => this.#scheduler.cancel(sequence, 'aborted', abortError(signal));
    const queue = new EventQueue<TokenEvent>({ onAbandon: onAbort, ...(signal && { signal }) });
    const checked = this.#check({ messages, maxTokens: 1, sampling: { temperature: 0 } });
    if ('error' in checked) throw checked.error;
    const { clock } = this.#parts;
    const sequence = new Sequence({
      record: new TraceRecord('prefill', clock.now(), clock, () => false),
      queue,
      prepare: () => this.#prepare(checked, this.#encodeOnce(checked.input)),
      onEnded: () => signal?.removeEventListener('abort', onAbort),
      priority: 'low', // for later, while others ask for something now
    });
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#scheduler.enqueue(sequence);
    let result: PrefillResult = { promptTokens: 0, cachedTokens: 0 };
    for await (const event of queue) if (event.type === 'end') result = event.usage;
    return { promptTokens: result.promptTokens, cachedTokens: result.cachedTokens };
  }

  /** Ids of a prompt that fits, however often they are asked for. */
  #encodeOnce(input: RequestInput): () => Promise<readonly number[]> {
    let encoded: Promise<readonly number[]> | undefined;
    const encode = async (): Promise<readonly number[]> => {
      const { contextTokens } = this.#limits;
      const promptTokens = 'promptTokens' in input ? input.promptTokens : await this.#parts.encodePrompt(input);
      if (promptTokens.length === 0) throw invalid(Object.keys(input)[0]!, 'gives no tokens', 'give some text');
      if (promptTokens.length >= contextTokens) throw contextOverflow(promptTokens.length, contextTokens);
      return promptTokens;
    };
    return () => (encoded ??= encode());
  }

  /** @param requestId names the answer in the journal; absent for one that nobody sees */
  async #prepare(
    checked: CheckedRequest,
    encode: () => Promise<readonly number[]>,
    requestId?: string,
  ): Promise<SequencePlan> {
    const { contextTokens } = this.#limits;
    const { input } = checked;
    const promptTokens = await encode();
    const { defaults = {}, drawSeed = randomSeed, tokenizer } = this.#parts;
    const grammar = checked.grammar && (await this.#parts.compileGrammar!(checked.grammar));
    // An answer to a chat begins a text; one to raw text or ids goes on in the middle of it.
    const decoder = createTokenDecoder(tokenizer, { continuesText: !('messages' in input) });
    const plan: SequencePlan = {
      promptTokens,
      maxTokens: Math.min(checked.maxTokens ?? Infinity, contextTokens - promptTokens.length),
      stopIds: new Set([...checked.stopTokenIds, ...(checked.ignoreEos ? [] : tokenizer.endIds)]),
      options: { sampling: mergeSampling(checked.sampling, defaults, drawSeed), logprobs: checked.logprobs },
      text: new OutputText(decoder, checked.stop),
      ...(grammar && { grammar }),
      ...(checked.speculation && this.#drafts()),
      ...(checked.logprobs > 0 && { tokenBytes: (id) => tokenizer.tokenBytes(id).slice() }),
      ...('messages' in input && { promptTail: tailOf(promptTokens, tokenizer) }),
    };
    const journal = this.#journal;
    const written = journal && journalRequest(checked, plan);
    if (!journal || !written || requestId === undefined) return plan;
    return { ...plan, journal: () => journal.begin(requestId, written) };
  }

  #drafts(): Pick<SequencePlan, 'drafts'> {
    const { speculator } = this.#parts;
    return speculator ? { drafts: speculator.createDrafts() } : {};
  }

  /**
   * Tells the metrics that a request has ended, once: when its consumer has read the end (so that a worker's host has sent the tokens
   * first), or in the next task for a consumer that is slow or never came.
   */
  #reporter(outcome: Outcome, trace: RequestTrace): () => void {
    const report = (): void => {
      if (this.#unreported.delete(report)) this.#emitter.emit('request', () => ({ outcome, trace }));
    };
    this.#unreported.add(report);
    setTimeout(report);
    return report;
  }
}

/** What a request is started with. */
interface Start {
  calledMs: number;
  /** Makes its plan, once its turn has come. */
  prepare?: (requestId: string) => Promise<SequencePlan>;
  /** Why it cannot start. */
  error?: unknown;
  /** Tokenizes its prompt, and refuses one that cannot fit. */
  encode?: () => Promise<unknown>;
  priority?: Priority;
  timeoutMs?: number;
}

/** Timers of browsers and Node hold no more: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Enough of a prompt's end for the opening of a turn. */
const TAIL_TOKENS = 16;

/** The text at the end of a prompt, without what its first tokens may have torn. */
function tailOf(promptTokens: readonly number[], tokenizer: Tokenizer): string {
  const decoder = createTokenDecoder(tokenizer, { continuesText: true });
  const pieces = promptTokens.slice(-TAIL_TOKENS).map((id) => decoder.push(id));
  return (pieces.join('') + decoder.flush()).replace(/^\ufffd+/, '');
}

function createKvCache({ backend, prefixCache, clock }: LocalEngineParts): KvCache | undefined {
  const { kv } = backend;
  if (!kv || !prefixCache) return undefined;
  return new KvCache({ ...prefixCache, backend: Object.assign(backend, { kv }), now: () => clock.now() });
}

/** Where blocks are stored, answers on their way are too. */
function createJournal({ backend, prefixCache, clock }: LocalEngineParts): Journal | undefined {
  const database = prefixCache?.stored?.database;
  if (!database || !backend.kv) return undefined;
  return new Journal({ database, scope: backend.info.model.fingerprint, now: () => clock.now() });
}

/** An engine from parts that are loaded already. @see LocalEngineParts */
export const createEngineFromParts = (parts: LocalEngineParts): Engine => new LocalEngine(parts);
