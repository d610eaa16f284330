import { isTokenglassError, TokenglassError } from '../shared/errors.ts';
import type { EndpointOptions } from '../runtime/adapters/endpoint/create-endpoint-engine.ts';
import { nearestName } from '../shared/nearest-name.ts';
import { addPartUrls } from '../shared/parts.ts';
import type { LocalEngineOptions } from '../runtime/load/create-local-engine.ts';
import { isWebLlmModel } from '../runtime/adapters/web-llm/web-llm-model.ts';
import type { Engine } from '../runtime/request/engine.ts';
import { withOpenAi, type OpenAiFace } from '../runtime/faces/openai/create-openai.ts';
import { connectEngine, type ConnectOptions } from './client.ts';
import { locateParts, runsInPage, startEngineWorker } from './locate.ts';
import type { LoadOptions } from './protocol.ts';
import type { ShareOptions } from './share/share-engine.ts';

export interface CreateEngineOptions extends LocalEngineOptions {
  /**
   * Where the engine runs: `true` in a worker of its own, `false` in the calling thread, or in a worker that is given (whose module
   * imports `tokenglass/worker`; it is terminated with the engine). @default true
   */
  worker?: boolean | Worker;
  /**
   * Share the engine with other chats of this page and with other tabs of this origin that ask for the same: the model is loaded once, and
   * requests are batched together. The last one to dispose of it ends it (docs/engines.md). Where this cannot be, an engine of its own is made, and
   * `info.reason` says why. @default false
   */
  share?: boolean | ShareOptions;
  /**
   * With `engine: 'auto'`, a server that is asked where the model does not run on this device. What a page sends then leaves the device;
   * `info.reason` says that, and why. @default none: the load fails
   */
  fallback?: EndpointOptions;
}

/** What {@link createEngine} gives: an engine, with OpenAI's API on it. */
export type OpenAiEngine = Engine & OpenAiFace;

/**
 * Loads a model and resolves to an engine that is ready to generate. The same {@link Engine} comes back from a worker and from the
 * calling thread.
 *
 * @throws TokenglassError `model-not-found`, `model-invalid`, `model-unsupported`, `model-too-large`, `network`, `no-webgpu`, `no-adapter`,
 *   `insecure-context`, `worker-dead`; `AbortError` once `signal` is aborted; TypeError for options that are not known, with the nearest name
 * @example
 * ```ts
 * const engine = await createEngine({ model: 'tutor' });
 * for await (const event of engine.generate({ messages: [{ role: 'user', content: 'What is TTFT?' }] }))
 *   if (event.type === 'delta') console.log(event.text);
 * ```
 */
export async function createEngine(given: CreateEngineOptions): Promise<OpenAiEngine> {
  checkOptions(given);
  const { fallback, ...options } = given;
  const { engine = 'auto', signal } = options;
  if (fallback && engine !== 'auto')
    throw new TypeError(`Cannot fall back from the engine ${engine}: leave fallback out, or take the engine auto`);
  try {
    return await createHere(options);
  } catch (error) {
    if (!fallback || !isTokenglassError(error)) throw error;
    const { createEndpointEngine } = await import('../runtime/adapters/endpoint/create-endpoint-engine.ts');
    const because = `the model does not run here (${error.message})`;
    return createEndpointEngine({ because, ...(signal && { signal }), ...fallback });
  }
}

/** Every option; the compiler asks for a line when one is added. */
const OPTIONS: Readonly<Record<keyof CreateEngineOptions, true>> = {
  model: true,
  engine: true,
  worker: true,
  share: true,
  fallback: true,
  contextTokens: true,
  threads: true,
  runAhead: true,
  prefillPrecision: true,
  speculation: true,
  prefixCache: true,
  policy: true,
  maxQueued: true,
  store: true,
  update: true,
  hub: true,
  assets: true,
  gpu: true,
  cacheBackend: true,
  onProgress: true,
  signal: true,
};

/** @throws TypeError for options that are none, lack a model, or have a name that is not known, with the nearest one */
function checkOptions(given: unknown): void {
  const example = "createEngine({ model: 'tutor' })";
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`Cannot create an engine without options: name a model, as in ${example}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(OPTIONS, name)) continue;
    const nearest = nearestName(name, Object.keys(OPTIONS));
    const remedy = nearest === undefined ? `use ${Object.keys(OPTIONS).join(', ')}` : `did you mean ${nearest}?`;
    throw new TypeError(`Cannot create an engine: there is no option ${JSON.stringify(name)}; ${remedy}`);
  }
  if ((given as Partial<CreateEngineOptions>).model === undefined)
    throw new TypeError(`Cannot create an engine without a model: name one, as in ${example}`);
}

/** On this device. */
async function createHere(given: Omit<CreateEngineOptions, 'fallback'>): Promise<OpenAiEngine> {
  const options = isWebLlmModel(given.model) ? { ...given, model: ofThePage(given.model) } : given;
  const { worker = true, share = false, onProgress, signal, gpu, ...load } = options;
  if (share !== false && worker !== true)
    throw new TypeError('Cannot share an engine that runs in the page or in a worker of its own: leave worker out');
  if (gpu && worker !== false) throw new TypeError('Cannot hand a `gpu` object to a worker: pass worker: false');
  if (worker === true && typeof Worker === 'undefined')
    throw new TokenglassError('unsupported', 'Cannot start a worker: there are none here; pass worker: false');
  signal?.throwIfAborted();
  addPartUrls(await locateParts());
  if (worker === false || runsInPage(load.engine ?? 'auto')) {
    const { createLocalEngine } = await import('../runtime/load/create-local-engine.ts');
    return withOpenAi(await createLocalEngine({ ...options }));
  }
  const told = { ...(onProgress && { onProgress }), ...(signal && { signal }) };
  const engine = share === false ? await inWorker(load, worker, told) : await shared(load, share, told);
  // What was downloaded should stay; the worker that stored it cannot ask for that.
  if (load.store !== false && load.model !== 'tutor')
    void import('../runtime/models/store/ask-to-persist.ts').then(({ askToPersist }) => askToPersist());
  return withOpenAi(engine);
}

type Told = Pick<ConnectOptions, 'onProgress' | 'signal' | 'note'>;

async function inWorker(load: LoadOptions, worker: true | Worker, told: Told): Promise<Engine> {
  const running = worker === true ? await startEngineWorker() : worker;
  return connectEngine(running, load, { ...told, onClosed: () => running.terminate() });
}

async function shared(load: LoadOptions, share: true | ShareOptions, told: Told): Promise<Engine> {
  const { shareEngine, shareObstacle } = await import('./share/share-engine.ts');
  const obstacle = shareObstacle();
  if (obstacle !== undefined) return inWorker(load, true, { ...told, note: `It is not shared: ${obstacle}.` });
  return shareEngine(load, share === true ? {} : share, told);
}

/** URLs of the page's, before a worker takes them for its own. */
function ofThePage<Model extends { modelUrl: string; modelLibUrl: string }>(model: Model): Model {
  const page = typeof document === 'undefined' ? undefined : document.baseURI;
  const whole = (url: string): string => (URL.canParse(url, page) ? new URL(url, page).href : url);
  return { ...model, modelUrl: whole(model.modelUrl), modelLibUrl: whole(model.modelLibUrl) };
}
