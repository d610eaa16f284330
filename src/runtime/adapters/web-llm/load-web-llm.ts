import { systemClock, type Clock } from '../../../shared/clock.ts';
import { wasPageHidden } from '../../../shared/page-hidden.ts';
import { abortError } from '../../../shared/errors.ts';
import type { EngineInfo, LoadProgress } from '../../../shared/info.ts';
import { MAX_TOP_LOGPROBS } from '../../backends/sampling/definition.ts';
import { describeDevice, describeModel } from './describe-model.ts';
import {
  countsFirstToken,
  importLibrary,
  type MlcCacheBackend,
  type MlcEngine,
  type MlcLibrary,
  type MlcModelRecord,
} from './library.ts';
import { MlcProgressReader } from './load-progress.ts';
import { errorOfLoad } from './mlc-error.ts';
import { pipelineOf } from './pipeline.ts';
import { WebLlmEngine } from './web-llm-engine.ts';
import type { WebLlmModel } from './web-llm-model.ts';
import { resolveWebLlmModel } from './resolve-model.ts';

export interface WebLlmOptions {
  /** A name of web-llm's catalog (`listWebLlmModels`), or a folder and a compiled library of your own. */
  model: string | WebLlmModel;
  /** Where the library keeps the files. @default 'cache', the Cache API */
  cacheBackend?: MlcCacheBackend;
  /** Most tokens of prompt and answer together. @default what the catalog or the model says */
  contextTokens?: number;
  /**
   * A worker whose module has web-llm's `WebWorkerMLCEngineHandler`, to run the library there. It tells less: no ids of tokens, no
   * log-probabilities, no prompt lengths. @default none: the library runs where this is called
   */
  mlcWorker?: Worker;
  /** @default imports `@mlc-ai/web-llm` */
  library?: () => Promise<MlcLibrary>;
  onProgress?: (progress: LoadProgress) => void;
  /** Ends the load. */
  signal?: AbortSignal;
  clock?: Clock;
}

/** No vocabulary that is known has more tokens; ids beyond are mistakes. */
const LARGEST_VOCABULARY = 2 ** 20;

/**
 * Loads a model with `@mlc-ai/web-llm`.
 *
 * @throws TokenglassError `unsupported` (the package is not installed), `model-not-found`, `model-unsupported`, `model-invalid` (with
 *   `details.clearCache`: see `clearWebLlmCache`), `missing-feature`, `no-webgpu`, `network`, `storage-full`, `device-lost`; `AbortError`
 */
export async function loadWebLlm(options: WebLlmOptions): Promise<WebLlmEngine> {
  const { model, cacheBackend, contextTokens, mlcWorker, signal, clock = systemClock } = options;
  signal?.throwIfAborted();
  const library = await (options.library ?? importLibrary)();
  const { record, appConfig } = resolveWebLlmModel(library, model, cacheBackend, contextTokens);
  const reader = new MlcProgressReader(record);
  let onReport = (): void => undefined;
  const config = {
    appConfig,
    logLevel: 'ERROR' as const,
    initProgressCallback: (report: Parameters<MlcProgressReader['read']>[0]) => {
      onReport();
      const progress = reader.read(report);
      if (progress && !signal?.aborted) options.onProgress?.(progress);
    },
  };
  const mlc = mlcWorker ? new library.WebWorkerMLCEngine(mlcWorker, config) : new library.MLCEngine(config);
  onReport = () => {
    if (signal?.aborted) void quietly(mlc.unload());
  };
  await load(mlc, record, signal);
  const pipeline = pipelineOf(mlc, record.model_id);
  const info = describe(record, pipeline, library);
  options.onProgress?.(reader.ready());
  return new WebLlmEngine({
    mlc,
    modelId: record.model_id,
    ...(pipeline && { pipeline }),
    countsFirstToken: countsFirstToken(library),
    info,
    limits: {
      vocabSize: info.model.vocabSize || LARGEST_VOCABULARY,
      contextTokens: info.model.contextTokens || Infinity,
      maxLogprobs: pipeline ? MAX_TOP_LOGPROBS : 0,
      grammar: true,
    },
    clock,
    isHidden: wasPageHidden,
  });
}

/**
 * The library ends a load only by `unload()`, which does not hear of a download that begins later: it is called again with every report of
 * progress, and once more when the load has come to its end, for the model that may be there then. An aborted load resolves as if it had worked.
 */
async function load(mlc: MlcEngine, { model_id: id }: MlcModelRecord, signal: AbortSignal | undefined): Promise<void> {
  const loading = mlc.reload(id);
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(abortError(signal));
      void quietly(mlc.unload());
      void quietly(loading).then(() => quietly(mlc.unload()));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([loading, aborted]);
  } catch (thrown) {
    if (signal?.aborted) throw abortError(signal);
    void quietly(mlc.unload());
    throw errorOfLoad(thrown, id);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

const quietly = (promise: Promise<unknown>): Promise<unknown> => promise.catch(() => undefined);

function describe(
  record: MlcModelRecord,
  pipeline: ReturnType<typeof pipelineOf>,
  { modelVersion }: MlcLibrary,
): EngineInfo {
  const adapter = describeDevice(pipeline);
  return {
    engine: 'web-llm',
    version: modelVersion,
    model: describeModel(record, pipeline),
    ...(adapter && { adapter }),
    reason: 'Runs on WebGPU by @mlc-ai/web-llm, because this engine was asked for.',
    worker: false,
  };
}
