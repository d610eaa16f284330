import { systemClock } from '../../shared/clock.ts';
import { wasPageHidden } from '../../shared/page-hidden.ts';
import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import type { EngineName, LoadProgress, SchedulingPolicy } from '../../shared/info.ts';
import type { PrefixCacheOptions } from '../../shared/prefix-cache.ts';
import { probeGpu, type GpuProbe } from '../backends/gpu/adapter-probe.ts';
import type { Backend } from '../backends/backend.ts';
import type { WebLlmOptions } from '../adapters/web-llm/load-web-llm.ts';
import { isWebLlmModel, type WebLlmModel } from '../adapters/web-llm/web-llm-model.ts';
import type { OrtAssets } from '../backends/onnx/ort-assets.ts';
import { chooseEngines, type EngineChoice } from './choose-engine.ts';
import { checkSpeculation } from './check-speculation.ts';
import type { Engine } from '../request/engine.ts';
import { createGrammarCompiler } from '../text/grammar/create-grammar-compiler.ts';
import { createEngineFromParts, type LocalEngineParts } from '../engine/local-engine.ts';
import type { SpeculationOption } from './create-speculator.ts';
import type { Speculator } from '../engine/speculation/speculator.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import { POLICIES } from '../engine/policies.ts';
import { KvDatabase } from '../prefix-cache/kv-database.ts';
import { ggufText, loadHubText, type ModelText } from './model-text.ts';
import { inFormat, resolveModel, type ModelSpec, type ResolvedModel } from '../models/catalog.ts';
import type { GgufHeader } from '../models/gguf/header.ts';
import { memoryLimit } from '../models/fit-check.ts';
import { beginLoad } from './load-session.ts';

/** Where files lie that are not the model's, for pages whose bundler does not find them. */
export interface EngineAssets extends OrtAssets {
  /** URL of a folder with the built-in model. @default found by the bundler in this package */
  tutorBaseUrl?: string;
}

export interface LocalEngineOptions {
  /**
   * `tutor` (built in) or another name of the catalog; the URL of a `.gguf` file, or of a folder in the layout of onnx-community repositories; a model of the Hub,
   * `hf:owner/name[@revision][/file.gguf]`; or `{ files }` that a person has chosen. For the engine `web-llm`: a name of its catalog
   * (`listWebLlmModels`), or `{ modelUrl, modelLibUrl }`.
   */
  model: ModelSpec | WebLlmModel;
  /** @default 'auto': WebGPU on a real GPU, else WASM */
  engine?: EngineName;
  /** Where `web-llm` keeps what it downloads, which it does by itself: `store` and `update` are not for it. @default 'cache' */
  cacheBackend?: WebLlmOptions['cacheBackend'];
  assets?: EngineAssets;
  /** Most tokens of a sequence. @default what the model can, within the memory there is */
  contextTokens?: number;
  /** Threads on WASM. @default 1 without cross-origin isolation, else at most 4 and at most the processors there are */
  threads?: number;
  /**
   * Arithmetic of prompts on `webgpu`. `exact`: f32, so that answers are the same however a prompt is cut into chunks, and with the prefix cache
   * or without. `fast`: also f16 and INT8 activations where they are faster on this device; a token that is nearly as likely as another may then
   * change. @default 'exact'
   */
  prefillPrecision?: 'exact' | 'fast';
  /**
   * Steps in flight at once on the engine `webgpu`, 1 to 4: 1 waits for each token before the next is begun, as others do, and shows what not
   * waiting is worth. @default 4
   */
  runAhead?: number;
  /** Where adapters come from (not over the edge of a worker). @default `navigator.gpu` */
  gpu?: GPU;
  /** Keep what is downloaded in IndexedDB, for the next load to need no network. @default true, where there is IndexedDB */
  store?: boolean;
  /** Ask the host whether stored files have changed, and download them anew if so. @default false, but true for a URL on this machine */
  update?: boolean;
  /** Mirror of the Hub, and an access token for `hf:` models (neither stored nor logged). */
  hub?: { baseUrl?: string; token?: string };
  /**
   * Keep the KV of prompts and answers in memory and in IndexedDB, token ids included, so that what begins alike is not computed again; false
   * keeps nothing. @default on, where the backend can
   */
  prefixCache?: boolean | PrefixCacheOptions;
  /**
   * How requests that run at the same time share the engine: `latency`, `balanced` or `throughput` (docs/batching.md). @default 'balanced'
   */
  policy?: SchedulingPolicy;
  /** Requests that may wait for their turn; one more is refused with `queue-full`. @default 64 */
  maxQueued?: number;
  /** Speculative decoding: the same text in fewer steps, where drafts turn out right. See docs/speculation.md. @default 'off' */
  speculation?: SpeculationOption;
  onProgress?: (progress: LoadProgress) => void;
  /** Ends the load. */
  signal?: AbortSignal;
}

/** A backend and the text side of its model. */
interface Loaded {
  backend: Backend;
  text: ModelText;
}

/**
 * Loads a model in the calling thread and resolves to an engine that is ready to generate.
 *
 * @throws TokenglassError `model-not-found`, `model-invalid`, `model-unsupported`, `model-too-large`, `network`, `no-webgpu`, `no-adapter`,
 *   `insecure-context`, `unsupported`, `device-lost`, `numeric-fault`, `watchdog`; `AbortError` once `signal` is aborted
 */
export async function createLocalEngine(options: LocalEngineOptions): Promise<Engine> {
  schedulingOf(options); // before anything is downloaded
  checkSpeculation(options.speculation);
  if (options.engine === 'web-llm') return createWebLlm(options);
  if (isWebLlmModel(options.model)) throw onlyWebLlm(options);
  const model = resolveModel(options.model, { ...options.assets, ...(options.hub && { hub: options.hub }) });
  const formats = { gguf: model.gguf !== undefined, onnx: model.onnx };
  const choices = chooseEngines(options.engine ?? 'auto', await probe(options), formats);
  let failure = '';
  for (const [index, { engine, reason }] of choices.entries()) {
    try {
      const { backend, text } = await load(options, model, engine);
      const speculator = await speculatorOf(options, { backend, tokenizer: text.tokenizer });
      return assemble(options, backend, text, { engine, reason: reason + failure }, speculator);
    } catch (error) {
      const isLast = index === choices.length - 1;
      if (isLast || !GPU_FAILURES.some((code) => isTokenglassError(error, code))) throw error;
      failure = ` (${(error as Error).message}.)`;
    }
  }
  throw new TypeError('Cannot load: no engine was chosen');
}

/** A draft model that does not load ends the load: what was asked for is not there. */
async function speculatorOf(
  options: LocalEngineOptions,
  target: { backend: Backend; tokenizer: Tokenizer },
): Promise<Speculator | undefined> {
  const { speculation = 'off', hub, assets } = options;
  if (speculation === 'off') return undefined;
  try {
    const { createSpeculator } = await import('./create-speculator.ts');
    return await createSpeculator(speculation, target, async (spec) => {
      const { backend, text } = await load(options, resolveModel(spec, { ...assets, ...(hub && { hub }) }), 'webgpu');
      return { backend, tokenizer: text.tokenizer };
    });
  } catch (error) {
    await target.backend.dispose();
    throw error;
  }
}

async function createWebLlm({ model, cacheBackend, contextTokens, onProgress, signal }: LocalEngineOptions) {
  if (typeof model !== 'string' && !isWebLlmModel(model)) {
    const message =
      'Cannot load chosen files with web-llm: it loads from URLs; give a name of listWebLlmModels() or { modelUrl, modelLibUrl }';
    throw new TokenglassError('model-unsupported', message, { details: { engine: 'web-llm' } });
  }
  const { loadWebLlm } = await import('../adapters/web-llm/load-web-llm.ts');
  return loadWebLlm({
    model,
    ...(cacheBackend && { cacheBackend }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  });
}

function onlyWebLlm({ engine = 'auto' }: LocalEngineOptions): TokenglassError {
  const message = `Cannot run a model of web-llm with the engine ${engine}: take the engine web-llm, or give a GGUF file or ONNX folder`;
  return new TokenglassError('model-unsupported', message, { details: { engine } });
}

/** What `auto` answers by the next engine: the GPU is there, but does not do. */
const GPU_FAILURES = ['numeric-fault', 'device-lost', 'watchdog', 'missing-feature', 'internal'] as const;

function probe({ engine, gpu }: LocalEngineOptions): Promise<GpuProbe> {
  // Asking for an adapter wakes a GPU, which an engine on the CPU has no use for.
  if (engine === 'onnx-wasm') return Promise.resolve({ status: 'no-adapter', reason: 'none was asked for' });
  return probeGpu(gpu ? { gpu } : {});
}

/** Backends are imported when they are used, so that a page fetches the code of one. */
async function load(
  options: LocalEngineOptions,
  model: ResolvedModel,
  engine: EngineChoice['engine'],
): Promise<Loaded> {
  const { store, update, onProgress, signal } = options;
  const memoryBytes = memoryLimit(engine === 'onnx-wasm');
  const { contextTokens } = options;
  const session = await beginLoad(inFormat(model, engine === 'webgpu' ? 'gguf' : 'onnx'), {
    store,
    update,
    onProgress,
    signal,
    memoryBytes,
    contextTokens,
  });
  const told = { ...options, ...(session.onProgress && { onProgress: session.onProgress }) };
  try {
    if (engine === 'webgpu') return await loadGguf(told, session.model);
    return await loadOnnx(told, session.model, engine === 'onnx-webgpu' ? 'webgpu' : 'wasm');
  } finally {
    await session.end();
  }
}

async function loadGguf(options: LocalEngineOptions, { source, gguf }: ResolvedModel): Promise<Loaded> {
  const { createWebGpuBackend } = await import('../backends/webgpu/create-webgpu-backend.ts');
  let header: GgufHeader | undefined;
  const memoryBudgetBytes = memoryLimit(false);
  const backend = await createWebGpuBackend({
    ...shared(options),
    ...(memoryBudgetBytes !== undefined && { memoryBudgetBytes }),
    ...(options.runAhead !== undefined && { runAhead: options.runAhead }),
    source,
    path: gguf!,
    ...(options.prefillPrecision && { prefillPrecision: options.prefillPrecision }),
    onHeader: (read) => {
      header = read;
    },
  });
  try {
    return { backend, text: ggufText(header!.metadata) };
  } catch (error) {
    await backend.dispose();
    throw error;
  }
}

async function loadOnnx(
  options: LocalEngineOptions,
  { source }: ResolvedModel,
  device: 'webgpu' | 'wasm',
): Promise<Loaded> {
  const { createOnnxBackend } = await import('../backends/onnx/create-onnx-backend.ts');
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  const backendLoading = createOnnxBackend({
    ...options.assets,
    ...shared(options),
    source,
    device,
    signal,
    ...(options.threads !== undefined && { threads: options.threads }),
  });
  try {
    const [backend, text] = await Promise.all([backendLoading, loadHubText(source, signal)]);
    return { backend, text };
  } catch (error) {
    failed.abort();
    backendLoading.then((backend) => backend.dispose()).catch(() => undefined);
    throw error;
  }
}

/** Options that every backend has. */
function shared({ gpu, contextTokens, onProgress, signal }: LocalEngineOptions) {
  return {
    ...(gpu && { gpu }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  };
}

const MEMORY_KV_BYTES = 256 * 2 ** 20;
const STORED_KV_BYTES = 512 * 2 ** 20;

function prefixCacheParts({ prefixCache = true }: LocalEngineOptions): Pick<LocalEngineParts, 'prefixCache'> {
  if (prefixCache === false) return {};
  const { memoryBytes = MEMORY_KV_BYTES, storedBytes = STORED_KV_BYTES } = prefixCache === true ? {} : prefixCache;
  const isStored = storedBytes > 0 && typeof indexedDB !== 'undefined';
  const stored = isStored ? { database: new KvDatabase(), budgetBytes: storedBytes } : undefined;
  return { prefixCache: { memoryBytes, ...(stored && { stored }) } };
}

/** @throws RangeError for a policy that there is not, or a queue of no whole number */
function schedulingOf({ policy, maxQueued }: LocalEngineOptions): NonNullable<LocalEngineParts['scheduling']> {
  if (policy !== undefined && !Object.hasOwn(POLICIES, policy))
    throw new RangeError(
      `Cannot create an engine: policy is "${policy}"; use one of ${Object.keys(POLICIES).join(', ')}`,
    );
  if (maxQueued !== undefined && !(Number.isInteger(maxQueued) && maxQueued >= 0))
    throw new RangeError(`Cannot create an engine: maxQueued is ${maxQueued}; give a whole number of 0 or more`);
  return { ...(policy !== undefined && { policy }), ...(maxQueued !== undefined && { maxQueued }) };
}

function assemble(
  options: LocalEngineOptions,
  backend: Backend,
  text: ModelText,
  choice: EngineChoice,
  speculator: Speculator | undefined,
): Engine {
  const { model, version, adapter, threads } = backend.info;
  return createEngineFromParts({
    backend,
    tokenizer: text.tokenizer,
    encodePrompt: text.encodePrompt,
    defaults: text.defaults,
    compileGrammar: createGrammarCompiler(text.tokenizer, model.vocabSize),
    clock: systemClock,
    ...prefixCacheParts(options),
    ...(speculator && { speculator }),
    scheduling: schedulingOf(options),
    isHidden: wasPageHidden,
    info: {
      ...choice,
      version,
      model,
      ...(adapter && { adapter }),
      ...(threads !== undefined && { threads }),
      worker: false,
    },
  });
}
