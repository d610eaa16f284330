import { TokenglassError } from '../../../shared/errors.ts';
import { importPackage } from './import-package.ts';

/**
 * What is used of `@mlc-ai/web-llm`, in types of ours: the package is an optional peer, and our declarations must not need it.
 * `library.test.ts` checks that the package still fits.
 */
export interface MlcLibrary {
  MLCEngine: new (config?: MlcEngineConfig) => MlcEngine;
  /** The same engine in a worker of the page's, which has a `WebWorkerMLCEngineHandler`. */
  WebWorkerMLCEngine: new (worker: Worker, config?: MlcEngineConfig) => MlcEngine;
  prebuiltAppConfig: MlcAppConfig;
  /** Generation of model libraries that this version runs, `v0_2_86/base`. */
  modelVersion: string;
  deleteModelInCache(modelId: string, appConfig?: MlcAppConfig): Promise<void>;
  deleteModelWasmInCache(modelId: string, appConfig?: MlcAppConfig): Promise<void>;
  deleteChatConfigInCache(modelId: string, appConfig?: MlcAppConfig): Promise<void>;
}

export interface MlcEngineConfig {
  appConfig?: MlcAppConfig;
  initProgressCallback?: (report: MlcProgress) => void;
  logLevel?: 'SILENT' | 'ERROR' | 'WARN';
}

export interface MlcProgress {
  /** 0 to 1, of the phase. */
  progress: number;
  text: string;
}

export interface MlcAppConfig {
  model_list: MlcModelRecord[];
  cacheBackend?: MlcCacheBackend;
}

/** Where the library keeps what it downloads. */
export type MlcCacheBackend = 'cache' | 'indexeddb' | 'opfs';

export interface MlcModelRecord {
  /** URL of the folder; without `/resolve/` in it, the library appends `resolve/main/`. */
  model: string;
  model_id: string;
  /** URL of the compiled model, a `.wasm`. */
  model_lib: string;
  overrides?: Readonly<Record<string, unknown>>;
  vram_required_MB?: number;
  low_resource_required?: boolean;
  buffer_size_required_bytes?: number;
  required_features?: string[];
  /** 0 or absent: a language model; 1: embeddings; 2: a language model that sees. */
  model_type?: number;
}

/** Calls of an engine; those with a stream are all that is asked for. */
export interface MlcEngine {
  chat: { completions: { create(request: MlcRequest): Promise<AsyncIterable<MlcChunk>> } };
  completions: { create(request: MlcRequest): Promise<AsyncIterable<MlcChunk>> };
  reload(modelId: string): Promise<void>;
  unload(): Promise<void>;
  /** Of the whole engine, whoever asked; heard between two steps only. */
  interruptGenerate(): unknown;
  resetChat(keepStats?: boolean, modelId?: string): Promise<void>;
}

export type MlcRequest = Readonly<Record<string, unknown>> & { stream: true };

export interface MlcChunk {
  choices: readonly {
    delta?: { content?: string | null };
    /** Of a text completion. */
    text?: string;
    finish_reason?: string | null;
  }[];
  /** In the last chunk only. `prompt_tokens` are those computed: turns whose KV was used again are not in it. */
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
}

/**
 * Imports the package, when the engine is asked for and not before.
 * @throws TokenglassError `unsupported` with `details.package` if it is not installed
 */
export async function importLibrary(): Promise<MlcLibrary> {
  try {
    return (await importPackage()) as MlcLibrary;
  } catch (cause) {
    throw new TokenglassError(
      'unsupported',
      "Cannot load the engine web-llm: the package @mlc-ai/web-llm is not there; install it (npm i @mlc-ai/web-llm) and import 'tokenglass/web-llm', or take another engine",
      { cause, details: { package: '@mlc-ai/web-llm' } },
    );
  }
}

/** True from 0.2.86 on, whose counts of tokens have the first one in them. */
export const countsFirstToken = ({ modelVersion }: MlcLibrary): boolean => {
  const [, major = 0, minor = 0, patch = 0] = /^v(\d+)_(\d+)_(\d+)/.exec(modelVersion)?.map(Number) ?? [];
  return major > 0 || minor > 2 || (minor === 2 && patch >= 86);
};
