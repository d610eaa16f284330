import { randomId } from '../shared/random-id.ts';
import { releaseProxy, transfer, wrap, type Endpoint, type Remote } from 'comlink';
import { systemClock, type Clock } from '../shared/clock.ts';
import { abortError, TokenglassError } from '../shared/errors.ts';
import { EventQueue } from '../shared/event-queue.ts';
import type { ChatMessage, GenerateRequest, TokenEvent } from '../shared/generation.ts';
import type { EngineInfo, LoadProgress } from '../shared/info.ts';
import { partUrls } from '../shared/parts.ts';
import type { PrefixCache } from '../shared/prefix-cache.ts';
import type { Engine, EngineEvents, EngineMetrics } from '../runtime/request/engine.ts';
import { whenDead } from './alive.ts';
import { DeliveryStamps } from './delivery.ts';
import { fromWireError, installErrorTransfer } from './error-transfer.ts';
import { remotePrefixCache } from './remote-prefix-cache.ts';
import type { EngineHost, FromHost, FromHostBatch, LoadOptions, ToHost } from './protocol.ts';

export interface ConnectOptions {
  onProgress?: (progress: LoadProgress) => void;
  /** Aborts the load; a loaded engine is ended by its disposal. */
  signal?: AbortSignal;
  /** Called once when the engine is disposed of or has died: where the worker is terminated. */
  onClosed?: () => void;
  /** What a page can do when the worker has died. @default 'create a new engine' */
  remedy?: string;
  /** A sentence that `info.reason` ends with. */
  note?: string;
  clock?: Clock;
  /** How long a worker may take to run its script and say so. @default 60,000 */
  startLimitMs?: number;
}

/** A worker that was killed before its script ran says nothing; a script on its way over a slow network does neither. */
const START_LIMIT_MS = 60_000;

/** A step that never returns must not keep the page from letting go of the worker. */
const DISPOSE_LIMIT_MS = 2000;

interface Pending {
  queue: EventQueue<TokenEvent>;
  stamps: DeliveryStamps;
  /** Takes the listener off the caller's signal, which may outlive the request. */
  release: () => void;
}

/** Loads an engine behind `endpoint` (a worker, or a port in a test) and resolves to an {@link Engine} on this side. */
export async function connectEngine(
  endpoint: Endpoint,
  load: LoadOptions,
  options: ConnectOptions = {},
): Promise<Engine> {
  options.signal?.throwIfAborted();
  const client = new WorkerEngine(endpoint, options);
  await client.load(load, options.signal);
  return client;
}

class WorkerEngine implements Engine {
  readonly metrics: EngineMetrics;
  prefixCache?: PrefixCache;
  resumable?: NonNullable<Engine['resumable']>;
  resume?: NonNullable<Engine['resume']>;
  discard?: NonNullable<Engine['discard']>;
  #info: EngineInfo | undefined;
  readonly #host: Remote<EngineHost>;
  readonly #port: MessagePort;
  readonly #remotePort: MessagePort;
  readonly #options: ConnectOptions;
  readonly #clock: Clock;
  readonly #requests = new Map<number, Pending>();
  /** Stamps of recent requests by their id, for the metrics event that follows the last token. */
  readonly #stamps = new Map<string, DeliveryStamps>();
  readonly #listeners = new Map<keyof EngineEvents, Set<(event: never) => void>>();
  readonly #closed = new AbortController();
  readonly #aliveLock = 'locks' in navigator ? `tokenglass-worker-${randomId()}` : undefined;
  #nextId = 1;
  #startTimer: ReturnType<typeof setTimeout> | undefined;
  #disposal: Promise<void> | undefined;

  constructor(endpoint: Endpoint, options: ConnectOptions) {
    installErrorTransfer();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#host = wrap<EngineHost>(endpoint);
    const channel = new MessageChannel();
    this.#port = channel.port1;
    this.#remotePort = channel.port2;
    this.#port.onmessage = ({ data }: MessageEvent<FromHostBatch>) =>
      data.forEach((message) => this.#onMessage(message));
    this.#port.onmessageerror = () => this.#die('a message could not be read');
    this.metrics = { on: (name, listener) => this.#subscribe(name, listener) };
    this.#watch(endpoint);
  }

  get info(): EngineInfo {
    if (!this.#info) throw new TokenglassError('internal', 'Cannot tell the engine: it is not loaded yet');
    return this.#info;
  }

  async load(load: LoadOptions, signal: AbortSignal | undefined): Promise<void> {
    const onAbort = (): void => void this.#host.cancelLoad();
    signal?.addEventListener('abort', onAbort, { once: true });
    const { startLimitMs = START_LIMIT_MS } = this.#options;
    this.#startTimer = setTimeout(() => this.#die(`it did not start within ${startLimitMs / 1000} s`), startLimitMs);
    try {
      const info = await this.#orClosed(() =>
        this.#host.load(
          { ...load, parts: partUrls() },
          transfer(this.#remotePort, [this.#remotePort]),
          this.#aliveLock,
        ),
      );
      const { note } = this.#options;
      this.#info = note === undefined ? info : { ...info, reason: `${info.reason} ${note}` };
      if (info.prefixCache) this.prefixCache = remotePrefixCache(this.#host, (call) => this.#orClosed(call));
      if (info.resumable) {
        this.resumable = () => this.#orClosed(() => this.#host.resumable());
        this.resume = (answer, resumeSignal) =>
          this.#start(this.#clock.now(), (id) => ({ type: 'resume', id, answer }), resumeSignal);
        this.discard = (answer) => this.#orClosed(() => this.#host.discard(answer));
      }
    } catch (error) {
      this.#close(error);
      throw signal?.aborted ? abortError(signal) : error;
    } finally {
      clearTimeout(this.#startTimer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    // Untyped code may give anything; what is no object goes as it is, for the engine to refuse by name.
    const given: unknown = request;
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    const calledMs = (isObject ? request.calledAtMs : undefined) ?? this.#clock.now();
    const message = isObject ? { ...request, calledAtMs: calledMs } : request;
    return this.#start(calledMs, (id) => ({ type: 'generate', id, request: message }), signal);
  }

  /** Asks for an answer over the port. */
  #start(calledMs: number, message: (id: number) => ToHost, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const id = this.#nextId++;
    const onAbort = (): void => this.#send({ type: 'abort', id });
    const queue = new EventQueue<TokenEvent>({ onAbandon: onAbort, ...(signal && { signal }) });
    const sent = message(id);
    if (signal?.aborted) queue.end(abortError(signal));
    else if (this.#closed.signal.aborted) queue.end(this.#closed.signal.reason);
    else {
      this.#requests.set(id, {
        queue,
        stamps: new DeliveryStamps(this.#clock, calledMs, sent.type === 'resume'),
        release: () => signal?.removeEventListener('abort', onAbort),
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        this.#send(sent);
      } catch (cause) {
        this.#requests.delete(id);
        queue.end(
          new TokenglassError(
            'invalid-request',
            'Cannot generate: the request holds something that is not plain data',
            { cause },
          ),
        );
      }
    }
    return queue;
  }

  async countTokens(input: { messages: readonly ChatMessage[] } | { prompt: string }): Promise<number> {
    return this.#orClosed(() => this.#host.countTokens(input));
  }

  async dispose(): Promise<void> {
    if (this.#closed.signal.aborted) return this.#disposal;
    this.#disposal = this.#dispose();
    return this.#disposal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Pending calls end at once; the host then has a moment to give its device back before the worker goes. */
  async #dispose(): Promise<void> {
    const disposed = Promise.race([
      this.#host.dispose(),
      new Promise((resolve) => setTimeout(resolve, DISPOSE_LIMIT_MS)),
    ]);
    this.#end(new TokenglassError('disposed', 'Cannot generate: the engine was disposed of; create a new one'));
    await disposed.catch(() => undefined);
    this.#release();
  }

  #onMessage(message: FromHost): void {
    if (message.type === 'token') this.#onToken(message.id, message.event);
    else if (message.type === 'done') this.#onDone(message);
    else if (message.type === 'metric') this.#onMetric(message.name, message.event);
    else if (message.type === 'progress') this.#options.onProgress?.(message.progress);
    else this.#onAlive();
  }

  #onAlive(): void {
    clearTimeout(this.#startTimer);
    if (this.#aliveLock)
      whenDead(this.#aliveLock, this.#closed.signal, () => this.#die('it was terminated or crashed'));
  }

  #onToken(id: number, event: TokenEvent): void {
    const pending = this.#requests.get(id);
    if (!pending) return;
    pending.stamps.onEvent(event);
    if (event.type === 'start' && this.#listeners.get('request')?.size)
      this.#stamps.set(event.requestId, pending.stamps);
    pending.queue.push(event.type === 'end' ? { ...event, trace: pending.stamps.stamp(event.trace) } : event);
  }

  #onDone({ id, error }: Extract<FromHost, { type: 'done' }>): void {
    const pending = this.#requests.get(id);
    this.#requests.delete(id);
    pending?.release();
    if (error) pending?.queue.end(fromWireError(error));
    else pending?.queue.end();
  }

  #onMetric(name: keyof EngineEvents, event: EngineEvents[keyof EngineEvents]): void {
    const stamped = 'trace' in event ? { ...event, trace: this.#stamped(event.trace) } : event;
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        (listener as (event: unknown) => void)(stamped);
      } catch (error) {
        console.error('A listener of engine metrics threw', error);
      }
    }
  }

  #stamped(trace: EngineEvents['request']['trace']): EngineEvents['request']['trace'] {
    const stamps = this.#stamps.get(trace.requestId);
    this.#stamps.delete(trace.requestId);
    return stamps ? stamps.stamp(trace) : trace;
  }

  #subscribe<Name extends keyof EngineEvents>(name: Name, listener: (event: EngineEvents[Name]) => void): () => void {
    // A wrapper of its own, so that the same function given twice is two subscriptions.
    const subscription = (event: EngineEvents[Name]): void => listener(event);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(subscription));
    if (listeners.size === 1) this.#sendSubscriptions();
    return () => {
      if (!listeners.delete(subscription) || listeners.size > 0) return;
      if (name === 'request') this.#stamps.clear(); // the events that would take them out do not come any more
      this.#sendSubscriptions();
    };
  }

  #sendSubscriptions(): void {
    const events = [...this.#listeners].filter(([, listeners]) => listeners.size > 0).map(([name]) => name);
    this.#send({ type: 'subscribe', events });
  }

  #send(message: ToHost): void {
    if (!this.#closed.signal.aborted) this.#port.postMessage(message);
  }

  /** Comlink never settles calls of a dead worker: ours lose against the end of the engine. */
  #orClosed<Result>(call: () => Promise<Result>): Promise<Result> {
    const { signal } = this.#closed;
    return new Promise((resolve, reject) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- always an Error, see #close
      const onClosed = (): void => reject(signal.reason);
      if (signal.aborted) {
        onClosed();
        return;
      }
      signal.addEventListener('abort', onClosed, { once: true });
      call()
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', onClosed));
    });
  }

  #watch(endpoint: Endpoint): void {
    const { signal } = this.#closed;
    const onError = (event: Event): void => {
      event.preventDefault(); // it is told by every pending call; the page's own error handler need not hear it too
      const { message } = event as Partial<ErrorEvent>;
      this.#die(message ? `it threw "${message}"` : 'its script could not be loaded');
    };
    endpoint.addEventListener('error', onError, { signal });
    endpoint.addEventListener('messageerror', () => this.#die('a message could not be read'), {
      signal,
    });
  }

  #die(what: string): void {
    this.#close(
      new TokenglassError(
        'worker-dead',
        `Cannot go on: the worker of the engine is gone, ${what}; ${this.#options.remedy ?? 'create a new engine'}`,
      ),
    );
  }

  #close(reason: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.#end(reason);
    this.#release();
  }

  /** Rejects everything pending, and everything later, with `reason`. */
  #end(reason: unknown): void {
    this.#closed.abort(reason);
    for (const { queue, release } of this.#requests.values()) {
      release();
      queue.end(reason);
    }
    this.#requests.clear();
  }

  #release(): void {
    this.#port.close();
    this.#host[releaseProxy]();
    this.#options.onClosed?.();
  }
}
