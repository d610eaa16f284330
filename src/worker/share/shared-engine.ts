import { abortError, isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { ChatMessage, GenerateRequest, TokenEvent } from '../../shared/generation.ts';
import type { EngineInfo } from '../../shared/info.ts';
import type { PrefixCache } from '../../shared/prefix-cache.ts';
import type { Engine, EngineEvents, EngineMetrics } from '../../runtime/request/engine.ts';
import { systemClock } from '../../shared/clock.ts';
import { connectEngine, type ConnectOptions } from '../client.ts';
import type { LoadOptions } from '../protocol.ts';
import { MovableAnswer } from './movable-answer.ts';
import { Membership, type Attachment, type MembershipOptions } from './membership.ts';
import type { Generation } from './protocol.ts';

export interface SharedEngineOptions
  extends Pick<ConnectOptions, 'onProgress' | 'signal'>, Omit<MembershipOptions, 'onHostGone'> {
  load: LoadOptions;
}

/** Hosts that may die one after the other while they load, before that is taken for the model's fault. */
const MOST_DEATHS = 3;

/** Attaches to the engine of that name, or makes it; resolves once it is loaded. */
export async function createSharedEngine(options: SharedEngineOptions): Promise<Engine> {
  options.signal?.throwIfAborted();
  const engine = new SharedEngine(options);
  try {
    await engine.connected();
    return engine;
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

interface Listening {
  subscribe: (metrics: EngineMetrics) => () => void;
  stop?: () => void;
}

/** An engine that several pages use. Where its host is gone, it attaches to the next one; what is asked meanwhile waits for that. */
class SharedEngine implements Engine {
  readonly metrics: EngineMetrics;
  prefixCache?: PrefixCache;
  resumable?: NonNullable<Engine['resumable']>;
  resume?: NonNullable<Engine['resume']>;
  discard?: NonNullable<Engine['discard']>;
  readonly #options: SharedEngineOptions;
  readonly #membership: Membership;
  readonly #listeners = new Set<Listening>();
  readonly #pinned = new Map<string, readonly ChatMessage[]>();
  readonly #disposing = new AbortController();
  #info: EngineInfo | undefined;
  #connecting: Promise<Engine> | undefined;
  /** The engine, while there is one. */
  #current: Engine | undefined;
  #attachment: Attachment | undefined;
  #lost: Generation | undefined;
  #disposal: Promise<void> | undefined;

  constructor(options: SharedEngineOptions) {
    this.#options = options;
    this.#membership = new Membership({ ...options, onHostGone: (generation) => this.#onHostGone(generation) });
    this.metrics = { on: (type, listener) => this.#listen(type, listener) };
  }

  get info(): EngineInfo {
    if (!this.#info) throw new TokenglassError('internal', 'Cannot tell the engine: it is not loaded yet');
    return this.#info;
  }

  /** The engine, attached to anew if its host is gone. */
  connected(): Promise<Engine> {
    if (this.#disposing.signal.aborted) return Promise.reject(this.#disposing.signal.reason as Error);
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined; // the next call tries again
      throw error;
    });
    return this.#connecting;
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const given: unknown = request;
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    // A wait for the next host counts.
    const called = isObject ? { calledAtMs: systemClock.now(), ...request } : request;
    return this.#answer((engine) => engine.generate(called, signal), signal);
  }

  countTokens(input: { messages: readonly ChatMessage[] } | { prompt: string }): Promise<number> {
    return this.#call((engine) => engine.countTokens(input));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #connect(): Promise<Engine> {
    const { load, onProgress, signal } = this.#options;
    const stop = this.#signalWith(this.#info ? undefined : signal); // the signal is for the load, not for what follows
    for (let deaths = 1; ; deaths += 1) {
      const attachment = await orAborted(this.#membership.attach(this.#lost), stop);
      const { generation } = attachment;
      this.#attachment = attachment;
      this.#lost = undefined;
      try {
        const engine = await connectEngine(attachment.port, load, {
          signal: stop,
          remedy: 'ask again: another tab takes over',
          onClosed: () => this.#onClosed(generation),
          ...(onProgress && { onProgress }),
        });
        this.#take(engine, attachment);
        return engine;
      } catch (error) {
        this.#lost = generation;
        if (!isTokenglassError(error, 'worker-dead') || deaths === MOST_DEATHS) throw error;
      }
    }
  }

  #take(engine: Engine, { place, isOwn }: Attachment): void {
    const shared = place === 'shared-worker' ? place : isOwn ? 'this-tab' : 'another-tab';
    this.#info = { ...engine.info, shared };
    this.#current = engine;
    for (const listening of this.#listeners) listening.stop = listening.subscribe(engine.metrics);
    for (const messages of this.#pinned.values()) engine.prefixCache?.pin(messages).catch(() => undefined);
    if (engine.prefixCache) this.prefixCache ??= this.#sharedCache();
    if (!engine.resumable) return;
    this.resumable ??= () => this.#call((next) => next.resumable!());
    this.resume ??= (id, signal) => this.#answer((next) => next.resume!(id, signal), signal);
    this.discard ??= (id) => this.#call((next) => next.discard!(id));
  }

  /** The connection has ended: disposed of, never loaded, or the host is gone. */
  #onClosed(generation: Generation): void {
    if (this.#attachment?.generation !== generation || !this.#current) return;
    this.#current = undefined;
    this.#connecting = undefined;
    this.#lost = generation;
    if (!this.#disposing.signal.aborted) this.connected().catch(() => undefined); // told by the next call
  }

  /** The port to it says nothing by itself, if it was given before the host knew of it. */
  #onHostGone(generation: Generation | undefined): void {
    if (!this.#attachment || (generation !== undefined && generation !== this.#attachment.generation)) return;
    this.#attachment.port.dispatchEvent(new ErrorEvent('error', { message: 'the tab that ran it was closed' }));
  }

  /** An answer of the engine, and of the next one if this one's host goes before it has begun. */
  #answer(start: (engine: Engine) => AsyncIterable<TokenEvent>, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    return new MovableAnswer({
      now: this.#current && start(this.#current),
      next: async () => start(await orAborted(this.connected(), this.#signalWith(signal))),
      canMove: (error) => this.#canMove(error),
    });
  }

  /** A call of the engine, repeated at the next one if this one's host goes meanwhile. */
  async #call<Result>(call: (engine: Engine) => Promise<Result>): Promise<Result> {
    try {
      return await call(await orAborted(this.connected(), this.#disposing.signal));
    } catch (error) {
      if (!this.#canMove(error)) throw error;
      return call(await orAborted(this.connected(), this.#disposing.signal));
    }
  }

  /** The host has gone, as opposed to this client. */
  #canMove(error: unknown): boolean {
    return isTokenglassError(error, 'worker-dead') && !this.#disposing.signal.aborted;
  }

  #signalWith(signal?: AbortSignal): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#disposing.signal]) : this.#disposing.signal;
  }

  #sharedCache(): PrefixCache {
    const call = <Result>(use: (cache: PrefixCache) => Promise<Result>): Promise<Result> =>
      this.#call((engine) => use(engine.prefixCache!));
    return {
      prefill: (messages, signal) => call((cache) => cache.prefill(messages, signal)),
      pin: (messages) => {
        this.#pinned.set(JSON.stringify(messages), messages);
        return call((cache) => cache.pin(messages));
      },
      unpin: (messages) => {
        this.#pinned.delete(JSON.stringify(messages));
        return call((cache) => cache.unpin(messages));
      },
      inspect: () => call((cache) => cache.inspect()),
      clear: () => call((cache) => cache.clear()),
      stats: () => call((cache) => cache.stats()),
    };
  }

  #listen<Type extends keyof EngineEvents>(type: Type, listener: (event: EngineEvents[Type]) => void): () => void {
    const listening: Listening = { subscribe: (metrics) => metrics.on(type, listener) };
    if (this.#current) listening.stop = listening.subscribe(this.#current.metrics);
    this.#listeners.add(listening);
    return () => {
      this.#listeners.delete(listening);
      listening.stop?.();
    };
  }

  async #dispose(): Promise<void> {
    const engine = this.#current;
    this.#disposing.abort(
      new TokenglassError('disposed', 'Cannot generate: the engine was disposed of; create a new one'),
    );
    await engine?.[Symbol.asyncDispose]();
    await this.#connecting?.catch(() => undefined);
    this.#membership.leave();
  }
}

/** `promise`, or what the signal was aborted with: an error of ours as it is, anything else as an `AbortError`. */
function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      reject(isTokenglassError(reason) ? reason : abortError(signal));
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
