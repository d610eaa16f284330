import type { Clock } from '../../../shared/clock.ts';
import { abortError, isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import { EventQueue } from '../../../shared/event-queue.ts';
import type { GenerateRequest, TokenEvent } from '../../../shared/generation.ts';
import type { EngineInfo } from '../../../shared/info.ts';
import { contextOverflow } from '../../request/context-overflow.ts';
import { timedOut } from '../../request/refusals.ts';
import { invalid } from '../../../shared/check.ts';
import type { Engine, EngineEvents, EngineMetrics } from '../../request/engine.ts';
import { MetricsEmitter } from '../../request/metrics-emitter.ts';
import { randomSeed } from '../../request/sampling-defaults.ts';
import { TraceRecord } from '../../request/trace-record.ts';
import {
  validateInput,
  validateRequest,
  type CheckedRequest,
  type RequestLimits,
} from '../../request/validate-request.ts';
import type { PromptInput } from '../../text/encode-prompt.ts';
import { countPromptTokens, EMPTY_THOUGHT } from './conversation.ts';
import type { MlcChunk, MlcEngine } from './library.ts';
import { LogitProbe, needsLogits } from './logit-probe.ts';
import { errorOfAnswer, lost } from './mlc-error.ts';
import { deviceOf, watchTokens, type MlcPipeline } from './pipeline.ts';
import { toMlcCall, type MlcCall } from './request-body.ts';
import { tokenBytesOf, type TokenBytes } from './token-bytes.ts';
import { WebLlmRun } from './web-llm-run.ts';

/** The parts of a {@link WebLlmEngine}. */
export interface WebLlmParts {
  mlc: MlcEngine;
  /** Name by which the library knows the model. */
  modelId: string;
  /** Absent for an engine in the library's own worker, which tells text and little else. */
  pipeline?: MlcPipeline;
  /** The library's counts have the first token in them (from 0.2.86 on). */
  countsFirstToken: boolean;
  info: EngineInfo;
  limits: RequestLimits;
  clock: Clock;
  isHidden: (sinceMs: number) => boolean;
  /** Called once, after the model was unloaded. */
  onClosed?: () => void;
}

/** A request that waits, runs, or is drained. */
interface Job {
  queue: EventQueue<TokenEvent>;
  record: TraceRecord;
  checked: CheckedRequest | { error: unknown };
  seed: number | undefined;
  /** Why it has to end: an abort, a lost device, the disposal; absent while it may go on. */
  ended: unknown;
  run?: WebLlmRun;
  /** Ends it when its time is over. */
  timer?: ReturnType<typeof setTimeout>;
  reported: boolean;
}

/**
 * An engine whose tokens come from `@mlc-ai/web-llm`. The library has one lock per model and one interrupt for all, so requests wait here, one is
 * given to it at a time, and a stream of the library's is always read to its end: before 0.2.86 one that is left early keeps the lock for ever.
 */
export class WebLlmEngine implements Engine {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  readonly #parts: WebLlmParts;
  readonly #emitter = new MetricsEmitter();
  readonly #bytesOf: TokenBytes;
  readonly #idPrefix = `req-${randomSeed().toString(36)}`;
  #nextRequest = 1;
  #waiting: Job[] = [];
  #running: { job: Job; done: Promise<void> } | undefined;
  /** Why nothing runs any more. */
  #gone: TokenglassError | undefined;
  #disposal: Promise<void> | undefined;

  constructor(parts: WebLlmParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.metrics = this.#emitter;
    this.#bytesOf = parts.pipeline ? tokenBytesOf(parts.pipeline) : () => undefined;
    void deviceOf(parts.pipeline)?.lost.then(() => this.#fail(lost()));
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const nowMs = this.#parts.clock.now();
    const checked = this.#check(request);
    const calledMs = 'error' in checked ? nowMs : Math.min(checked.calledAtMs ?? nowMs, nowMs);
    const id = `${this.#idPrefix}-${this.#nextRequest++}`;
    const onAbort = (): void => this.#end(job, abortError(signal));
    const job: Job = {
      queue: new EventQueue<TokenEvent>({
        onAbandon: () => this.#end(job, abortError()),
        onFinished: () => signal?.removeEventListener('abort', onAbort),
        ...(signal && { signal }),
      }),
      record: new TraceRecord(id, calledMs, this.#parts.clock, this.#parts.isHidden),
      checked,
      seed: 'error' in checked ? undefined : this.#seedOf(checked),
      ended: undefined,
      reported: false,
    };
    job.record.sampledWith(job.seed);
    this.#waiting.push(job);
    if (signal?.aborted) onAbort();
    else if (this.#gone) this.#end(job, this.#gone);
    else signal?.addEventListener('abort', onAbort, { once: true });
    this.#watchTime(job, nowMs - calledMs);
    this.#pump();
    return job.queue;
  }

  #watchTime(job: Job, spentMs: number): void {
    const { timeoutMs } = 'error' in job.checked ? {} : job.checked;
    if (timeoutMs === undefined || timeoutMs > MAX_TIMER_MS || job.ended !== undefined) return;
    const end = (): void => this.#end(job, timedOut(timeoutMs));
    if (timeoutMs <= spentMs) end();
    else job.timer = setTimeout(end, timeoutMs - spentMs);
  }

  countTokens(input: PromptInput): Promise<number> {
    // In a promise of its own: what is wrong rejects.
    return Promise.resolve().then(() => {
      if (this.#gone) throw this.#gone;
      const { limits, pipeline } = this.#parts;
      const checked = validateInput({ ...(input as object) }, { ...limits, contextTokens: Infinity });
      if ('promptTokens' in checked) return checked.promptTokens.length;
      if (pipeline) return countPromptTokens(pipeline, checked);
      throw new TokenglassError(
        'unsupported',
        "Cannot count tokens: web-llm's worker does not tell them; load the engine without mlcWorker",
      );
    });
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #dispose(): Promise<void> {
    const wasLost = this.#gone !== undefined;
    this.#fail(new TokenglassError('disposed', 'Cannot generate: the engine was disposed of; create a new one'));
    // To unload under a running step is to free what it reads; a lost device may never end its step.
    const deviceLost = deviceOf(this.#parts.pipeline)?.lost;
    if (!wasLost) await Promise.race([this.#running?.done, ...(deviceLost ? [deviceLost] : [])]);
    await this.#parts.mlc.unload().catch(() => undefined);
    this.#parts.onClosed?.();
  }

  /** Ends everything, now and to come. */
  #fail(error: TokenglassError): void {
    if (this.#gone && !isTokenglassError(error, 'disposed')) return;
    this.#gone = error;
    for (const job of [...this.#waiting, ...(this.#running ? [this.#running.job] : [])]) this.#end(job, error);
  }

  /** Ends one request. Only the one that runs is interrupted: the library would stop whatever runs. */
  #end(job: Job, error: unknown): void {
    if (job.ended !== undefined) return;
    job.ended = error;
    if (isTokenglassError(error, 'timeout')) job.queue.end(error);
    else job.queue.abort(error);
    this.#waiting = this.#waiting.filter((other) => other !== job);
    if (job.run) {
      job.run.isOver = true;
      this.#interrupt();
    }
    this.#report(job, isTokenglassError(error) ? 'failed' : 'aborted');
  }

  #pump(): void {
    if (this.#running) return;
    const job = this.#waiting.shift();
    if (!job) return;
    const done = this.#serve(job).finally(() => {
      this.#running = undefined;
      this.#pump();
    });
    this.#running = { job, done };
  }

  /** Never rejects: what goes wrong ends the queue. Resolves when the library is free again. */
  async #serve(job: Job): Promise<void> {
    await Promise.resolve(); // `#running` is set, and an abort right after the call is heard
    if (job.ended !== undefined) return;
    const { pipeline } = this.#parts;
    let release = (): void => undefined;
    try {
      if ('error' in job.checked) throw job.checked.error;
      job.record.started();
      const call = this.#callOf(job.checked, job.seed);
      const probe = pipeline && needsLogits(call.wishes) ? new LogitProbe(call.wishes, this.#bytesOf) : undefined;
      await this.#forgetBrokenTurns();
      const run = this.#runOf(job, job.checked, call, probe);
      job.run = run;
      if (pipeline) release = this.#watch(pipeline, run, probe);
      await this.#read(run, await this.#ask(call));
      if (hasEnded(job)) return;
      if (!run.isComplete) throw new DOMException('Cannot go on: the library was told to stop', 'AbortError');
      const trace = run.complete();
      job.queue.end();
      this.#report(job, 'completed', trace);
    } catch (thrown) {
      this.#onError(job, thrown);
    } finally {
      release();
    }
  }

  #ask({ isChat, body }: MlcCall): Promise<AsyncIterable<MlcChunk>> {
    const { chat, completions } = this.#parts.mlc;
    return isChat ? chat.completions.create(body) : completions.create(body);
  }

  /** Reads to the end, wanted or not; the library gives its lock back there. */
  async #read(run: WebLlmRun, chunks: AsyncIterable<MlcChunk>): Promise<void> {
    for await (const chunk of chunks) {
      run.accept(chunk);
      // Again with every chunk: an interrupt that comes before the prefill is forgotten as it begins.
      const isLast = Boolean(chunk.usage ?? chunk.choices[0]?.finish_reason);
      if (run.isOver && !isLast) this.#interrupt();
    }
  }

  #interrupt(): void {
    // From the library's worker the call gives nothing, and its answer may be a rejection.
    void Promise.resolve(this.#parts.mlc.interruptGenerate()).catch(() => undefined);
  }

  #onError(job: Job, thrown: unknown): void {
    const isAbort = thrown instanceof DOMException && thrown.name === 'AbortError';
    const error = isAbort ? thrown : errorOfAnswer(thrown);
    if (isTokenglassError(error, 'device-lost')) this.#fail(error);
    if (job.ended !== undefined) return;
    job.ended = error;
    job.queue.end(error);
    this.#report(job, isAbort ? 'aborted' : 'failed');
  }

  /**
   * An answer that was cut short ends with a token that is in its text and not in its KV; before 0.2.86 a next turn went on from there.
   */
  async #forgetBrokenTurns(): Promise<void> {
    const { mlc, pipeline, modelId } = this.#parts;
    const finish = pipeline?.getFinishReason();
    if (finish === 'abort' || finish === 'length') await mlc.resetChat(false, modelId);
  }

  #callOf(checked: CheckedRequest, seed: number | undefined): MlcCall {
    const { modelId, pipeline } = this.#parts;
    const countThought = (): number => pipeline?.tokenizer.encode(EMPTY_THOUGHT).length ?? 0;
    const call = toMlcCall(checked, modelId, seed, pipeline, countThought);
    if (!pipeline || 'promptTokens' in checked.input || isSliding(pipeline)) return call;
    const promptTokens = countPromptTokens(pipeline, checked.input, call.noThinking);
    if (promptTokens >= pipeline.contextWindowSize) throw contextOverflow(promptTokens, pipeline.contextWindowSize);
    return call;
  }

  #runOf(job: Job, checked: CheckedRequest, { noThinking }: MlcCall, probe: LogitProbe | undefined): WebLlmRun {
    const { clock, pipeline, countsFirstToken } = this.#parts;
    return new WebLlmRun({
      record: job.record,
      checked,
      queue: job.queue,
      clock,
      noThinking,
      countsFirstToken,
      ...(pipeline && { pipeline }),
      ...(probe && { probe }),
      onStep: (step) => this.#emitter.emit('step', () => step),
    });
  }

  /** Sees the tokens of a run, and the logits if it has to. @returns what lets go again */
  #watch(pipeline: MlcPipeline, run: WebLlmRun, probe: LogitProbe | undefined): () => void {
    const stop = watchTokens(pipeline, (id) => run.token(id));
    const before = pipeline.logitProcessor;
    if (probe) pipeline.logitProcessor = probe;
    return () => {
      stop();
      if (probe) pipeline.logitProcessor = before;
    };
  }

  #check(request: GenerateRequest): CheckedRequest | { error: unknown } {
    try {
      return validateRequest(request, this.#parts.limits);
    } catch (error) {
      return { error: isTokenglassError(error) ? error : invalid('request', 'cannot be read', 'give plain data') };
    }
  }

  /** A seed for everything that may sample, so that an answer can be had again. */
  #seedOf({ sampling }: CheckedRequest): number | undefined {
    const temperature = sampling.temperature ?? this.#parts.pipeline?.config.temperature;
    return temperature === 0 ? undefined : (sampling.seed ?? randomSeed());
  }

  /** In a task of its own, so that a consumer has the tokens first. */
  #report(job: Job, outcome: EngineEvents['request']['outcome'], whole?: EngineEvents['request']['trace']): void {
    if (job.reported) return;
    job.reported = true;
    clearTimeout(job.timer);
    const trace = whole ?? job.run?.trace() ?? job.record.finish();
    setTimeout(() => this.#emitter.emit('request', () => ({ outcome, trace })));
  }
}

/** Timers of browsers and Node hold no more: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Asked anew after each await. */
const hasEnded = ({ ended }: Job): boolean => ended !== undefined;

const isSliding = ({ config }: MlcPipeline): boolean => (config.sliding_window_size ?? -1) !== -1;
