import type { ChatMessage, GenerateRequest, TokenEvent } from '../../shared/generation.ts';
import type { EngineInfo } from '../../shared/info.ts';
import type { PrefixCache } from '../../shared/prefix-cache.ts';
import type { ResumableAnswer } from '../../shared/resumable.ts';
import type { RequestTrace, StepTrace } from '../../shared/trace.ts';

/** Events that an engine emits while it works. */
export interface EngineEvents {
  /** A backend step has ended. */
  step: StepTrace;
  /** A request has ended, completed or not. */
  request: { outcome: 'completed' | 'aborted' | 'failed'; trace: RequestTrace };
}

export interface EngineMetrics {
  /**
   * Calls `listener` for every event of that type until the returned function is called. A listener that throws is reported
   * to the console and does not disturb the engine; with no listener, an event costs one branch.
   */
  on<Type extends keyof EngineEvents>(type: Type, listener: (event: EngineEvents[Type]) => void): () => void;
}

/**
 * Requests to tokens. The OpenAI face, the worker, the elements and the bench lab see only this; implementations are
 * LocalEngine (our loop over a Backend), its worker client, and adapters that bring their own loop.
 */
export interface Engine extends AsyncDisposable {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  /** Absent for an engine without one: its backend cannot export KV, or it was turned off. */
  readonly prefixCache?: PrefixCache;

  /**
   * Generates an answer. The request is queued when this is called, not when iteration begins; where requests run together (`info.scheduling`),
   * each gives what it gives alone. Leaving the loop early (`break`, `return`, a throw in the consumer) aborts the request; an iterator that is never
   * consumed does not keep the next request waiting for ever.
   *
   * @throws TokenglassError `invalid-request` (details.field names it), `context-overflow`, `device-lost`, `worker-dead`,
   *   `disposed`, `numeric-fault`, `queue-full`, `timeout`; DOMException `AbortError` once the signal is aborted. Errors surface from the iteration.
   * @example
   * ```ts
   * for await (const event of engine.generate({ messages: [{ role: 'user', content: 'What is TTFT?' }] })) {
   *   if (event.type === 'delta') output.append(event.text);
   * }
   * ```
   */
  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent>;

  /** Answers that were cut short by a reload, a crash or a lost device, latest first; absent for an engine that takes none down. */
  resumable?(): Promise<ResumableAnswer[]>;

  /**
   * Goes on with an answer that was cut short: with the same tokens as without the cut. What there was of it comes first, in one delta without
   * tokens; `usage` counts it as prompt. @throws like `generate`; `invalid-request` for one that is gone or that another tab goes on with
   */
  resume?(id: string, signal?: AbortSignal): AsyncIterable<TokenEvent>;

  /** Forgets an answer that was cut short. */
  discard?(id: string): Promise<void>;

  /** Tokens that these messages (with the template and generation prompt) or this raw text would put in the context. */
  countTokens(input: { messages: readonly ChatMessage[] } | { prompt: string }): Promise<number>;

  /**
   * Aborts what runs and gives memory back. Calling it twice is safe.
   *
   * @example
   * ```ts
   * const engine = await createEngine({ model: 'tutor' });
   * await engine.dispose();
   * ```
   */
  dispose(): Promise<void>;

  /** The same as {@link Engine.dispose}, for `await using engine = await createEngine(...)`. */
  [Symbol.asyncDispose](): Promise<void>;
}
