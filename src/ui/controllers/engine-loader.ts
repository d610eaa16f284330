import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { LoadProgress } from '../../shared/info.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import type { CreateEngineOptions } from '../../worker/create-engine.ts';

/** What a loader has; exactly one of the three while it loads, has failed or is done, none before. */
export interface LoaderState {
  engine?: Engine;
  progress?: LoadProgress;
  error?: TokenglassError;
}

type Create = (options: CreateEngineOptions) => Promise<Engine>;

/**
 * One engine at a time: a new load ends the one before and disposes of its engine, and nothing that arrives late takes the place
 * of something newer.
 */
export class EngineLoader {
  readonly #create: Create;
  readonly #onChange: (state: LoaderState) => void;
  #abort: AbortController | undefined;
  #state: LoaderState = {};

  /** @param onChange - called with the whole state whenever it changes */
  constructor(create: Create, onChange: (state: LoaderState) => void) {
    this.#create = create;
    this.#onChange = onChange;
  }

  get state(): LoaderState {
    return this.#state;
  }

  /**
   * Loads an engine in place of the one there is.
   *
   * @throws what `createEngine` throws (which is in `state.error` too), or `AbortError` if something newer took over
   */
  async load(options: Omit<CreateEngineOptions, 'signal' | 'onProgress'>): Promise<Engine> {
    const abort = this.#begin();
    const { signal } = abort;
    const { engine: before } = this.#state;
    this.#enter({ progress: { phase: 'download', loadedBytes: 0, label: 'Getting ready' } });
    try {
      // The memory of the old engine is given back before the new one asks for its own.
      await before?.[Symbol.asyncDispose]();
      signal.throwIfAborted();
      const engine = await this.#create({
        ...options,
        signal,
        onProgress: (progress) => {
          if (!signal.aborted && progress.phase !== 'ready') this.#enter({ progress });
        },
      });
      if (signal.aborted) await engine[Symbol.asyncDispose]();
      signal.throwIfAborted();
      this.#enter({ engine });
      return engine;
    } catch (error) {
      if (!signal.aborted) this.#enter({ error: asTokenglassError(error) });
      throw error;
    }
  }

  /** Ends a load that is on, and disposes of the engine. */
  async dispose(): Promise<void> {
    this.#abort?.abort();
    const { engine } = this.#state;
    this.#enter({});
    await engine?.[Symbol.asyncDispose]();
  }

  #begin(): AbortController {
    this.#abort?.abort();
    this.#abort = new AbortController();
    return this.#abort;
  }

  #enter(state: LoaderState): void {
    this.#state = state;
    this.#onChange(state);
  }
}

function asTokenglassError(error: unknown): TokenglassError {
  if (isTokenglassError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  // An error that crossed a realm has the code but not the class.
  if (isTokenglassError(error))
    return new TokenglassError(error.code, message, { cause: error, details: error.details });
  return new TokenglassError('internal', `Cannot load the model: ${message}; load it again`, { cause: error });
}
