import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { systemClock, type Clock } from '../../shared/clock.ts';
import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { FinishReason, GenerateRequest, OutputToken, TokenEvent, Usage } from '../../shared/generation.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { DeliveryStamp } from './delivery-stamp.ts';

/** Where a generation is. `queued` until the engine begins, `prefill` until the first text, then `streaming`. */
export const GenerationState = {
  idle: 'idle',
  queued: 'queued',
  prefill: 'prefill',
  streaming: 'streaming',
  done: 'done',
  error: 'error',
} as const;
export type GenerationState = (typeof GenerationState)[keyof typeof GenerationState];

export interface GenerationResult {
  outcome: 'completed' | 'aborted';
  /** Absent if the run was stopped. */
  finishReason?: FinishReason;
  /** Absent if the run was stopped. */
  usage?: Usage;
  /** With the times of delivery to the page; absent if the run was stopped. */
  trace?: RequestTrace;
}

/** What a run tells while it goes on. A listener is never called for a run that a newer one has replaced. */
export interface GenerationListener {
  onCall?(call: { runId: number; calledMs: number }): void;
  onStart?(start: { runId: number; requestId: string; promptTokens: number; cachedTokens: number }): void;
  onDelta?(delta: { runId: number; text: string; tokens: readonly OutputToken[]; deliveredMs: number }): void;
  onFirstText?(first: { runId: number; ttftMs: number }): void;
  onEnd?(end: { runId: number } & GenerationResult): void;
  onError?(failure: { runId: number; error: TokenglassError }): void;
}

/**
 * One generation at a time for a host element: state, abort, times of delivery. A new run aborts the one before, and nothing
 * that arrives late from an old run changes the state of a newer one.
 *
 * @example
 * ```ts
 * const generation = new GenerationController(chat, { onDelta: ({ text }) => output.append(text) });
 * void generation.run(engine, { messages });
 * ```
 */
export class GenerationController implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #listener: GenerationListener;
  readonly #clock: Clock;
  #abort: AbortController | undefined;
  #runId = 0;
  #state: GenerationState = GenerationState.idle;
  #error: TokenglassError | undefined;

  constructor(host: ReactiveControllerHost, listener: GenerationListener = {}, clock: Clock = systemClock) {
    this.#host = host;
    this.#listener = listener;
    this.#clock = clock;
    host.addController(this);
  }

  get state(): GenerationState {
    return this.#state;
  }

  /** Why the last run failed; undefined unless the state is `error`. */
  get error(): TokenglassError | undefined {
    return this.#error;
  }

  /** True while a run is on. */
  get busy(): boolean {
    return this.#abort !== undefined;
  }

  /** Counts runs; the run of an event is the latest if its id equals this. */
  get runId(): number {
    return this.#runId;
  }

  /** An element that leaves the page takes its generation with it. */
  hostDisconnected(): void {
    this.stop();
  }

  /** Aborts the current run, if there is one; it ends in `done`. */
  stop(): void {
    this.#abort?.abort();
  }

  /** Forgets the last run's outcome, and aborts one that is on. */
  reset(): void {
    this.#runId += 1;
    this.#abort?.abort();
    this.#abort = undefined;
    this.#enter(GenerationState.idle);
  }

  /**
   * Runs a request to its end. Never rejects: the outcome is in `state`, `error` and the listener.
   *
   * @returns the result, or undefined if the run failed or was replaced by a newer one
   */
  run(engine: Engine, request: GenerateRequest): Promise<GenerationResult | undefined> {
    return this.#run((calledAtMs, signal) => engine.generate({ ...request, calledAtMs }, signal));
  }

  /**
   * Goes on with an answer that was cut short, of `engine.resumable()`. What there was of it comes first, and is no first text. Otherwise as
   * {@link run}.
   */
  resume(engine: Engine, id: string): Promise<GenerationResult | undefined> {
    return this.#run((_, signal) => {
      if (!engine.resume)
        throw new TokenglassError('unsupported', 'Cannot go on: this engine takes no answers down; ask again');
      return engine.resume(id, signal);
    }, true);
  }

  async #run(
    start: (calledMs: number, signal: AbortSignal) => AsyncIterable<TokenEvent>,
    isResumed = false,
  ): Promise<GenerationResult | undefined> {
    this.#abort?.abort();
    const runId = (this.#runId += 1);
    const abort = new AbortController();
    this.#abort = abort;
    const calledMs = this.#clock.now();
    const stamp = new DeliveryStamp(calledMs);
    this.#enter(GenerationState.queued);
    this.#listener.onCall?.({ runId, calledMs });
    try {
      const events = start(calledMs, abort.signal);
      const result = await this.#consume(runId, events, stamp, isResumed);
      if (!result) return undefined;
      this.#settle(runId, GenerationState.done);
      this.#listener.onEnd?.({ runId, ...result });
      return result;
    } catch (error) {
      if (runId !== this.#runId) return undefined;
      if (abort.signal.aborted) {
        this.#settle(runId, GenerationState.done);
        this.#listener.onEnd?.({ runId, outcome: 'aborted' });
        return { outcome: 'aborted' };
      }
      this.#error = asTokenglassError(error);
      this.#settle(runId, GenerationState.error);
      this.#listener.onError?.({ runId, error: this.#error });
      return undefined;
    } finally {
      stamp.dispose();
    }
  }

  /** Undefined if a newer run took over. */
  async #consume(
    runId: number,
    events: AsyncIterable<TokenEvent>,
    stamp: DeliveryStamp,
    isResumed: boolean,
  ): Promise<GenerationResult | undefined> {
    let result: GenerationResult | undefined;
    let isOld = isResumed;
    for await (const event of events) {
      if (runId !== this.#runId) return undefined;
      if (event.type === 'start') {
        this.#enter(GenerationState.prefill);
        const { requestId, promptTokens, cachedTokens } = event;
        this.#listener.onStart?.({ runId, requestId, promptTokens, cachedTokens });
      } else if (event.type === 'delta') {
        isOld &&= event.tokens.length === 0;
        this.#deliver(runId, event, isOld ? undefined : stamp);
      } else {
        const { finishReason, usage } = event;
        result = { outcome: 'completed', finishReason, usage, trace: stamp.onto(event.trace) };
      }
    }
    if (runId !== this.#runId) return undefined;
    if (result) return result;
    throw new TokenglassError('internal', 'Cannot finish the answer: the engine ended without an end event; ask again');
  }

  /** @param stamp - absent for text of an earlier run */
  #deliver(
    runId: number,
    { text, tokens }: Extract<TokenEvent, { type: 'delta' }>,
    stamp: DeliveryStamp | undefined,
  ): void {
    const deliveredMs = this.#clock.now();
    if (text !== '' && stamp?.onText(deliveredMs)) {
      this.#enter(GenerationState.streaming);
      this.#listener.onFirstText?.({ runId, ttftMs: deliveredMs - stamp.calledMs });
    }
    this.#listener.onDelta?.({ runId, text, tokens, deliveredMs });
  }

  #settle(runId: number, state: GenerationState): void {
    if (runId !== this.#runId) return;
    this.#abort = undefined;
    this.#enter(state);
  }

  #enter(state: GenerationState): void {
    this.#state = state;
    if (state !== GenerationState.error) this.#error = undefined;
    this.#host.requestUpdate();
  }
}

function asTokenglassError(error: unknown): TokenglassError {
  if (isTokenglassError(error)) return error;
  const { message } = error instanceof Error ? error : { message: String(error) };
  // An error that crossed a realm has the code but not the class.
  if (isTokenglassError(error))
    return new TokenglassError(error.code, message, { cause: error, details: error.details });
  return new TokenglassError('internal', `Cannot finish the answer: ${message}; ask again`, { cause: error });
}
