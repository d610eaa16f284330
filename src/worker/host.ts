import { expose, type Endpoint } from 'comlink';
import { abortError, TokenglassError } from '../shared/errors.ts';
import type { LoadProgress } from '../shared/info.ts';
import type { PrefixCache } from '../shared/prefix-cache.ts';
import type { Engine, EngineEvents } from '../runtime/engine/engine.ts';
import { holdAliveLock } from './alive.ts';
import { BatchingPort } from './batching-port.ts';
import { installErrorTransfer, toWireError } from './error-transfer.ts';
import type { EngineHost, LoadOptions, ToHost } from './protocol.ts';

/** How the host makes its engine; the worker entry gives `createLocalEngine`, a test may give a scripted one. */
export type EngineFactory = (
  options: LoadOptions & { onProgress: (progress: LoadProgress) => void; signal: AbortSignal },
) => Promise<Engine>;

/** Serves one engine to the other side of `endpoint`. */
export function exposeEngine(endpoint: Endpoint, createEngine: EngineFactory): void {
  installErrorTransfer();
  let engine: Engine | undefined;
  let loading: AbortController | undefined;
  let stopServing: (() => void) | undefined;
  const prefills = new Map<number, AbortController>();

  const host: EngineHost = {
    async load(options, port, aliveLock) {
      if (engine || loading) throw new TokenglassError('internal', 'Cannot load: this worker already serves an engine');
      loading = new AbortController();
      const out = new BatchingPort(port);
      try {
        if (aliveLock !== undefined) {
          await holdAliveLock(aliveLock);
          out.post({ type: 'alive' });
        }
        const onProgress = (progress: LoadProgress): void => out.post({ type: 'progress', progress });
        engine = await createEngine({ ...options, onProgress, signal: loading.signal });
        stopServing = serve(engine, port, out);
        return { ...engine.info, worker: true };
      } finally {
        loading = undefined;
      }
    },
    cancelLoad: () => loading?.abort(abortError()),
    countTokens: (input) => loaded(engine).countTokens(input),
    async prefill(id, messages) {
      const controller = new AbortController();
      prefills.set(id, controller);
      try {
        return await cacheOf(engine).prefill(messages, controller.signal);
      } finally {
        prefills.delete(id);
      }
    },
    cancelPrefill: (id) => prefills.get(id)?.abort(abortError()),
    pinPrefix: async (messages) => cacheOf(engine).pin(messages),
    unpinPrefix: async (messages) => cacheOf(engine).unpin(messages),
    inspectPrefixes: async () => cacheOf(engine).inspect(),
    clearPrefixes: async () => cacheOf(engine).clear(),
    prefixStats: async () => cacheOf(engine).stats(),
    resumable: async () => resumableEngine(loaded(engine)).resumable(),
    discard: async (answer) => resumableEngine(loaded(engine)).discard(answer),
    async dispose() {
      loading?.abort(abortError());
      stopServing?.();
      await engine?.[Symbol.asyncDispose](); // rejects what runs
    },
  };
  expose(host, endpoint);
}

function loaded(engine: Engine | undefined): Engine {
  if (!engine)
    throw new TokenglassError('internal', 'Cannot answer: no engine is loaded in this worker; call load first');
  return engine;
}

/** @throws TokenglassError `unsupported` for an engine that takes no answers down */
function resumableEngine(engine: Engine): Required<Pick<Engine, 'resumable' | 'resume' | 'discard'>> {
  if (engine.resumable && engine.resume && engine.discard) return engine as ReturnType<typeof resumableEngine>;
  throw new TokenglassError(
    'unsupported',
    'Cannot go on with an answer: this engine takes none down; create it with prefixCache',
  );
}

function cacheOf(engine: Engine | undefined): PrefixCache {
  const cache = loaded(engine).prefixCache;
  if (cache) return cache;
  throw new TokenglassError(
    'unsupported',
    'Cannot use the prefix cache: this engine has none; create it with prefixCache',
  );
}

/** Runs the requests that come over `port`, until the returned function is called. */
function serve(engine: Engine, port: MessagePort, out: BatchingPort): () => void {
  const running = new Map<number, AbortController>();
  let unsubscribe: (() => void)[] = [];

  const answer = async (id: number, start: (signal: AbortSignal) => ReturnType<Engine['generate']>): Promise<void> => {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      for await (const event of start(controller.signal)) out.post({ type: 'token', id, event });
      out.post({ type: 'done', id });
    } catch (error) {
      out.post({ type: 'done', id, error: toWireError(error) });
    } finally {
      running.delete(id);
    }
  };

  const subscribe = (events: readonly (keyof EngineEvents)[]): void => {
    for (const stop of unsubscribe) stop();
    unsubscribe = events.map((name) => engine.metrics.on(name, (event) => out.post({ type: 'metric', name, event })));
  };

  port.onmessage = ({ data }: MessageEvent<ToHost>) => {
    if (data.type === 'generate') void answer(data.id, (signal) => engine.generate(data.request, signal));
    else if (data.type === 'resume')
      void answer(data.id, (signal) => resumableEngine(engine).resume(data.answer, signal));
    else if (data.type === 'abort') running.get(data.id)?.abort(abortError());
    else subscribe(data.events);
  };
  return () => {
    for (const stop of unsubscribe) stop();
  };
}
