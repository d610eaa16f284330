import type { TokenEvent } from '../../shared/generation.ts';
import type { Engine } from '../request/engine.ts';

export interface EngineWatcher {
  onEvent: (event: TokenEvent) => void;
  /** What a request was ended by, cancelled or not. */
  onError: (error: unknown) => void;
}

/** The engine under another name, with an eye on what it says. */
export function watchedEngine(engine: Engine, name: string, { onEvent, onError }: EngineWatcher): Engine {
  const { contextTokens } = engine.info.model;
  const model = {
    ...engine.info.model,
    // A library or server that does not tell its context would be asked for nothing.
    contextTokens: contextTokens > 0 ? contextTokens : Number.MAX_SAFE_INTEGER,
  };
  return {
    info: { ...engine.info, engine: name, model },
    metrics: engine.metrics,
    ...(engine.prefixCache && { prefixCache: engine.prefixCache }),
    async *generate(request, signal) {
      try {
        for await (const event of engine.generate(request, signal)) {
          onEvent(event);
          yield event;
        }
      } catch (error) {
        onError(error);
        throw error;
      }
    },
    countTokens: (input) => engine.countTokens(input),
    dispose: () => engine.dispose(),
    [Symbol.asyncDispose]: () => engine.dispose(),
  };
}
