import { systemClock } from '../../shared/clock.ts';
import { wasPageHidden } from '../../shared/page-hidden.ts';
import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import { ENGINES, enginesWith, hasSetting, type EngineName } from '../../shared/engines.ts';
import type { LoadProgress, SchedulingPolicy } from '../../shared/info.ts';
import type { PrefixCacheOptions } from '../../shared/prefix-cache.ts';
import { probeGpu, type GpuProbe } from '../backends/gpu/adapter-probe.ts';
import type { Backend } from '../backends/backend.ts';
import type { WebLlmOptions } from '../adapters/web-llm/load-web-llm.ts';
import { isWebLlmModel, type WebLlmModel } from '../adapters/web-llm/web-llm-model.ts';
import type { OrtAssets } from '../backends/onnx/ort-assets.ts';
import { chooseEngines, isLocalEngineName, type EngineChoice } from './choose-engine.ts';
import { loadModel } from './loaders.ts';
import { checkSpeculation } from './check-speculation.ts';
import type { Engine } from '../request/engine.ts';
import { createGrammarCompiler } from '../text/grammar/create-grammar-compiler.ts';
import { createEngineFromParts, type LocalEngineParts } from '../engine/local-engine.ts';
import type { SpeculationOption } from './create-speculator.ts';
import type { Speculator } from '../engine/speculation/speculator.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import { POLICIES } from '../engine/policies.ts';
import { KvDatabase } from '../prefix-cache/kv-database.ts';
import type { ModelText } from './model-text.ts';
import { resolveModel, type ModelSpec } from '../models/catalog.ts';

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
  /** Threads of an engine on the CPU. @default 1 without cross-origin isolation, else at most 4 and at most the processors there are */
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

/**
 * Loads a model in the calling thread and resolves to an engine that is ready to generate.
 *
 * @throws TokenglassError `model-not-found`, `model-invalid`, `model-unsupported`, `model-too-large`, `network`, `no-webgpu`, `no-adapter`,
 *   `insecure-context`, `unsupported`, `device-lost`, `numeric-fault`, `watchdog`; `AbortError` once `signal` is aborted
 */
export async function createLocalEngine(options: LocalEngineOptions): Promise<Engine> {
  schedulingOf(options); // before anything is downloaded
  checkSpeculation(options.speculation);
  refuseForeignSettings(options);
  if (options.engine === 'web-llm') return createWebLlm(options);
  if (isWebLlmModel(options.model)) throw onlyWebLlm(options);
  const model = resolveModel(options.model, { ...options.assets, ...(options.hub && { hub: options.hub }) });
  const formats = { gguf: model.gguf !== undefined, onnx: model.onnx };
  const choices = chooseEngines(options.engine ?? 'auto', await probe(options), formats);
  let failure = '';
  for (const [index, { engine, reason }] of choices.entries()) {
    try {
      const { backend, text } = await loadModel(options, model, engine);
      const speculator = await speculatorOf(options, { backend, tokenizer: text.tokenizer });
      return assemble(options, backend, text, { engine, reason: reason + failure }, speculator);
    } catch (error) {
      const isLast = index === choices.length - 1;
      if (isLast || !FAILURES[ENGINES[engine].device].some((code) => isTokenglassError(error, code))) throw error;
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
      const { backend, text } = await loadModel(
        options,
        resolveModel(spec, { ...assets, ...(hub && { hub }) }),
        'webgpu',
      );
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

/**
 * An engine that is asked for by name reads its own settings only. With `auto` a setting counts if the engine that is taken has it.
 *
 * @throws TypeError that names the setting and the engines that read it
 */
function refuseForeignSettings(options: LocalEngineOptions): void {
  const { engine = 'auto' } = options;
  if (engine === 'auto' || !Object.hasOwn(ENGINES, engine)) return;
  for (const setting of ['threads', 'runAhead', 'prefillPrecision', 'cacheBackend'] as const) {
    if (options[setting] === undefined || hasSetting(engine, setting)) continue;
    const readers = enginesWith(setting);
    throw new TypeError(
      `Cannot create an engine: ${engine} has no option ${setting}; leave it out, or take ${readers.join(' or ')}`,
    );
  }
}

function onlyWebLlm({ engine = 'auto' }: LocalEngineOptions): TokenglassError {
  const message = `Cannot run a model of web-llm with the engine ${engine}: take the engine web-llm, or give a GGUF file or ONNX folder`;
  return new TokenglassError('model-unsupported', message, { details: { engine } });
}

/** What `auto` answers by the next engine: the GPU is there, but does not do; or the CPU engine does not run the model. */
const FAILURES = {
  gpu: ['numeric-fault', 'device-lost', 'watchdog', 'missing-feature', 'internal'],
  cpu: ['model-unsupported', 'missing-feature'],
} as const;

function probe({ engine = 'auto', gpu }: LocalEngineOptions): Promise<GpuProbe> {
  // Asking for an adapter wakes a GPU, which an engine on the CPU has no use for.
  if (isLocalEngineName(engine) && ENGINES[engine].device === 'cpu')
    return Promise.resolve({ status: 'no-adapter', reason: 'none was asked for' });
  return probeGpu(gpu ? { gpu } : {});
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
