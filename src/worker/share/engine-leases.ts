import { abortError, isTokenglassError } from '../../shared/errors.ts';
import type { LoadProgress } from '../../shared/info.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import type { EngineFactory, EngineLease, LeaseRequest } from '../host.ts';

/** An engine that is loading or loaded, and who uses it. */
interface Shared {
  engine: Promise<Engine>;
  loading: AbortController;
  users: Set<LeaseRequest>;
  progress?: LoadProgress;
}

/** After these errors an engine is of no more use: those who come next get another one. */
const FATAL = ['device-lost', 'watchdog', 'worker-dead'] as const;

/** One engine for many clients: loaded for the first, ended after the last. */
export class EngineLeases {
  readonly #create: EngineFactory;
  #shared: Shared | undefined;

  constructor(create: EngineFactory) {
    this.#create = create;
  }

  /** The engine, once it is loaded. A client that aborts leaves the load to the others; the last one ends it. */
  async acquire(request: LeaseRequest): Promise<EngineLease> {
    const shared = (this.#shared ??= this.#load(request));
    shared.users.add(request);
    if (shared.progress) request.onProgress(shared.progress);
    try {
      const engine = await orAborted(shared.engine, request.signal);
      return {
        engine,
        release: () => this.#release(shared, request),
        onError: (error) => {
          if (this.#shared === shared && FATAL.some((code) => isTokenglassError(error, code))) this.#shared = undefined;
        },
      };
    } catch (error) {
      await this.#release(shared, request);
      throw error;
    }
  }

  #load({ onProgress: _onProgress, signal: _signal, ...options }: LeaseRequest): Shared {
    const loading = new AbortController();
    const users = new Set<LeaseRequest>();
    const onProgress = (progress: LoadProgress): void => {
      shared.progress = progress;
      for (const user of users) user.onProgress(progress);
    };
    // Later, so that everything is there when progress is told.
    const engine = Promise.resolve().then(() => this.#create({ ...options, onProgress, signal: loading.signal }));
    const shared: Shared = { engine, loading, users };
    engine.catch(() => {
      if (this.#shared === shared) this.#shared = undefined;
    });
    return shared;
  }

  async #release(shared: Shared, user: LeaseRequest): Promise<void> {
    if (!shared.users.delete(user) || shared.users.size > 0) return;
    if (this.#shared === shared) this.#shared = undefined;
    shared.loading.abort(abortError());
    const engine = await shared.engine.catch(() => undefined);
    await engine?.[Symbol.asyncDispose]();
  }
}

function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
