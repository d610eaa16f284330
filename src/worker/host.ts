import { expose, type Endpoint } from 'comlink';
import { abortError, TokenglassError } from '../shared/errors.ts';
import type { LoadProgress } from '../shared/info.ts';
import { addPartUrls } from '../shared/parts.ts';
import type { PrefixCache } from '../shared/prefix-cache.ts';
import type { Engine, EngineEvents } from '../runtime/request/engine.ts';
import { holdAliveLock } from './alive.ts';
import { BatchingPort } from './batching-port.ts';
import { installErrorTransfer, toWireError } from './error-transfer.ts';
import { Pins } from './pins.ts';
import type { EngineHost, LoadOptions, ToHost } from './protocol.ts';

/** How the host makes its engine; the worker entry gives `createLocalEngine`, a test may give a scripted one. */
export type EngineFactory = (options: LeaseRequest) => Promise<Engine>;

/** A load, and who is told of its progress. */
export type LeaseRequest = LoadOptions & { onProgress: (progress: LoadProgress) => void; signal: AbortSignal };

/** An engine that one client uses, alone or with others. */
export interface EngineLease {
  engine: Engine;
  /** The client is done with it. */
  release: () => Promise<void>;
  /** An answer has ended with this error. */
  onError?: (error: unknown) => void;
}

/** Serves one engine to the other side of `endpoint`, which has it for itself. */
export function exposeEngine(endpoint: Endpoint, createEngine: EngineFactory): void {
  exposeLease(endpoint, async (request) => {
    const engine = await createEngine(request);
    return { engine, release: () => engine[Symbol.asyncDispose]() };
  });
}

/**
 * Serves the engine of a lease to the other side of `endpoint`. The returned function ends that when the client is gone without a word: its
 * answers count as cut short, so that they can be resumed.
 */
export function exposeLease(
  endpoint: Endpoint,
  acquire: (request: LeaseRequest) => Promise<EngineLease>,
  { onDisposed }: { onDisposed?: () => void } = {},
): () => Promise<void> {
  installErrorTransfer();
  let lease: EngineLease | undefined;
  let loading: AbortController | undefined;
  let hasEnded = false;
  let stopServing: ((reason: unknown) => void) | undefined;
  const prefills = new Map<number, AbortController>();
  const pins = new Pins(() => cacheOf(lease));

  const end = async (reason: unknown): Promise<void> => {
    hasEnded = true;
    loading?.abort(abortError());
    stopServing?.(reason);
    for (const controller of prefills.values()) controller.abort(abortError());
    const ending = lease;
    await pins.release().catch(() => undefined);
    lease = undefined;
    await ending?.release(); // rejects what runs, if nobody else uses it
    onDisposed?.();
  };
  const host: EngineHost = {
    async load({ parts, ...options }, port, aliveLock) {
      if (lease || loading) throw new TokenglassError('internal', 'Cannot load: this worker already serves an engine');
      loading = new AbortController();
      const out = new BatchingPort(port);
      try {
        addPartUrls(parts);
        if (aliveLock !== undefined) await holdAliveLock(aliveLock);
        out.post({ type: 'alive' });
        const onProgress = (progress: LoadProgress): void => out.post({ type: 'progress', progress });
        const acquired = await acquire({ ...options, onProgress, signal: loading.signal });
        if (hasEnded) {
          await acquired.release();
          throw abortError();
        }
        lease = acquired;
        stopServing = serve(acquired, port, out);
        return { ...acquired.engine.info, worker: true };
      } finally {
        loading = undefined;
      }
    },
    cancelLoad: () => loading?.abort(abortError()),
    countTokens: (input) => loaded(lease).countTokens(input),
    async prefill(id, messages) {
      const controller = new AbortController();
      prefills.set(id, controller);
      try {
        return await cacheOf(lease).prefill(messages, controller.signal);
      } finally {
        prefills.delete(id);
      }
    },
    cancelPrefill: (id) => prefills.get(id)?.abort(abortError()),
    pinPrefix: (messages) => pins.pin(messages),
    unpinPrefix: (messages) => pins.unpin(messages),
    inspectPrefixes: async () => cacheOf(lease).inspect(),
    clearPrefixes: async () => cacheOf(lease).clear(),
    prefixStats: async () => cacheOf(lease).stats(),
    resumable: async () => resumableEngine(loaded(lease)).resumable(),
    discard: async (answer) => resumableEngine(loaded(lease)).discard(answer),
    dispose: () => end(abortError()),
  };
  expose(host, endpoint);
  return () => end(new TokenglassError('worker-dead', 'Cannot go on: the page that asked for the answer is gone'));
}

function loaded(lease: EngineLease | undefined): Engine {
  if (!lease)
    throw new TokenglassError('internal', 'Cannot answer: no engine is loaded in this worker; call load first');
  return lease.engine;
}

/** @throws TokenglassError `unsupported` for an engine that takes no answers down */
function resumableEngine(engine: Engine): Required<Pick<Engine, 'resumable' | 'resume' | 'discard'>> {
  if (engine.resumable && engine.resume && engine.discard) return engine as ReturnType<typeof resumableEngine>;
  throw new TokenglassError(
    'unsupported',
    'Cannot go on with an answer: this engine takes none down; create it with prefixCache',
  );
}

function cacheOf(lease: EngineLease | undefined): PrefixCache {
  const cache = loaded(lease).prefixCache;
  if (cache) return cache;
  throw new TokenglassError(
    'unsupported',
    'Cannot use the prefix cache: this engine has none; create it with prefixCache',
  );
}

/** Runs the requests that come over `port`, until the returned function is called, which aborts them. */
function serve({ engine, onError }: EngineLease, port: MessagePort, out: BatchingPort): (reason: unknown) => void {
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
      onError?.(error);
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
  return (reason) => {
    for (const stop of unsubscribe) stop();
    port.onmessage = null;
    for (const controller of running.values()) controller.abort(reason);
  };
}
