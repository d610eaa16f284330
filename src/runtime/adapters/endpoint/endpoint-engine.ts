import type { Clock } from '../../../shared/clock.ts';
import { abortError, isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import { EventQueue } from '../../../shared/event-queue.ts';
import type { GenerateRequest, TokenEvent } from '../../../shared/generation.ts';
import type { EngineInfo } from '../../../shared/info.ts';
import type { PromptInput } from '../../text/encode-prompt.ts';
import { invalid } from '../../../shared/check.ts';
import type { Engine, EngineEvents, EngineMetrics } from '../../request/engine.ts';
import { timedOut } from '../../request/refusals.ts';
import { MetricsEmitter } from '../../request/metrics-emitter.ts';
import { randomSeed } from '../../request/sampling-defaults.ts';
import {
  validateInput,
  validateRequest,
  type CheckedRequest,
  type RequestLimits,
} from '../../request/validate-request.ts';
import { countTokens } from './count-tokens.ts';
import { EndpointRun } from './endpoint-run.ts';
import { requestBody } from './request-body.ts';
import { send, type SendOptions } from './send.ts';
import type { Server } from './server-kind.ts';

/** The parts of an {@link EndpointEngine}. */
export interface EndpointParts {
  server: Server;
  info: EngineInfo;
  limits: RequestLimits;
  sending: SendOptions;
  clock: Clock;
  isHidden: (sinceMs: number) => boolean;
}

/** An engine whose tokens come from a server. Requests run at the same time; the server has its own queue. */
export class EndpointEngine implements Engine {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  readonly #parts: EndpointParts;
  readonly #emitter = new MetricsEmitter();
  /** What ends every request with "disposed". */
  readonly #disposed = new AbortController();
  readonly #idPrefix = `req-${randomSeed().toString(36)}`;
  #nextRequest = 1;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
    this.info = parts.info;
    this.metrics = this.#emitter;
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const nowMs = this.#parts.clock.now();
    const abandoned = new AbortController();
    const queue = new EventQueue<TokenEvent>({
      onAbandon: () => abandoned.abort(abortError()),
      ...(signal && { signal }),
    });
    const late = new AbortController();
    const ends = [abandoned.signal, this.#disposed.signal, late.signal, ...(signal ? [signal] : [])];
    void this.#run(request, queue, { ended: AbortSignal.any(ends), late, signal }, nowMs);
    return queue;
  }

  async countTokens(input: PromptInput): Promise<number> {
    this.#disposed.signal.throwIfAborted();
    const { server, limits, sending } = this.#parts;
    const checked = validateInput({ ...(input as object) }, { ...limits, contextTokens: Infinity });
    if ('promptTokens' in checked) return checked.promptTokens.length;
    return countTokens(server, checked, sending, this.#disposed.signal);
  }

  dispose(): Promise<void> {
    if (!this.#disposed.signal.aborted)
      this.#disposed.abort(
        new TokenglassError('disposed', 'Cannot generate: the engine was disposed of; create a new one'),
      );
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Never rejects: what goes wrong ends the queue. */
  async #run(
    request: GenerateRequest,
    queue: EventQueue<TokenEvent>,
    { ended, late, signal }: { ended: AbortSignal; late: AbortController; signal: AbortSignal | undefined },
    nowMs: number,
  ): Promise<void> {
    const checked = this.#check(request);
    const calledMs = 'error' in checked ? nowMs : Math.min(checked.calledAtMs ?? nowMs, nowMs);
    const seed = 'error' in checked ? undefined : seedOf(checked);
    const id = `${this.#idPrefix}-${this.#nextRequest++}`;
    const run = new EndpointRun(
      id,
      calledMs,
      seed,
      queue,
      this.#parts.clock,
      this.#parts.isHidden,
      this.#parts.sending.redact,
    );
    // An abort is told at once, also while a server does not let go of its connection.
    const onEnded = (): void => {
      if (late.signal.aborted) queue.end(late.signal.reason);
      else queue.abort(this.#reason(signal));
    };
    ended.addEventListener('abort', onEnded, { once: true });
    const timer = 'error' in checked ? undefined : endInTime(checked.timeoutMs, nowMs - calledMs, late);
    try {
      ended.throwIfAborted();
      if ('error' in checked) throw checked.error;
      await this.#ask(checked, run, ended);
      ended.throwIfAborted();
      const trace = run.complete();
      queue.end();
      this.#report('completed', trace);
    } catch (error) {
      if (ended.aborted) onEnded();
      else queue.end(error);
      const isAbort = ended.aborted && !this.#disposed.signal.aborted && !late.signal.aborted;
      this.#report(isAbort ? 'aborted' : 'failed', run.trace());
    } finally {
      clearTimeout(timer);
      ended.removeEventListener('abort', onEnded);
    }
  }

  async #ask(checked: CheckedRequest, run: EndpointRun, ended: AbortSignal): Promise<void> {
    const { server, sending } = this.#parts;
    const { path, body } = requestBody(checked, server.model, server.kind, run.seed);
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify(body),
      signal: ended,
    };
    await run.read(await send(`${server.baseURL}${path}`, init, { ...sending, fetch: server.fetch }, () => run.sent()));
  }

  #reason(signal: AbortSignal | undefined): unknown {
    return this.#disposed.signal.aborted ? this.#disposed.signal.reason : abortError(signal);
  }

  #check(request: GenerateRequest): CheckedRequest | { error: unknown } {
    try {
      return validateRequest(request, this.#parts.limits);
    } catch (error) {
      return { error: isTokenglassError(error) ? error : invalid('request', 'cannot be read', 'give plain data') };
    }
  }

  /** In a task of its own, so that a consumer has the tokens first. */
  #report(outcome: EngineEvents['request']['outcome'], trace: EngineEvents['request']['trace']): void {
    setTimeout(() => this.#emitter.emit('request', () => ({ outcome, trace })));
  }
}

/** A seed for everything that may sample, so that an answer can be had again; what the server does by default is not known. */
function seedOf({ sampling }: CheckedRequest): number | undefined {
  return sampling.temperature === 0 ? undefined : (sampling.seed ?? randomSeed());
}

/** Aborts `late` once a request has taken its time, of which `spentMs` are over. */
function endInTime(
  timeoutMs: number | undefined,
  spentMs: number,
  late: AbortController,
): ReturnType<typeof setTimeout> | undefined {
  if (timeoutMs === undefined || timeoutMs > MAX_TIMER_MS) return undefined;
  const end = (): void => late.abort(timedOut(timeoutMs));
  if (timeoutMs > spentMs) return setTimeout(end, timeoutMs - spentMs);
  end();
  return undefined;
}

/** Timers of browsers and Node hold no more: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;
