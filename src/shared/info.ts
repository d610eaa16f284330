import type { LoadableEngineName } from './engines.ts';

export interface AdapterInfo {
  vendor: string;
  architecture: string;
  description: string;
  /** A software adapter (SwiftShader, WARP, lavapipe): correct, but no GPU. */
  isFallback: boolean;
  features: readonly string[];
}

export interface ModelInfo {
  /** Catalog name, Hub id, URL or file name. */
  id: string;
  /** `general.architecture` of GGUF or `model_type` of config.json: `llama`, `qwen2`, ... */
  architecture: string;
  /** As the file says: `Q4_0`, `Q4_K_M`, `q4`, `q4f16`, ... */
  quantization: string;
  layers: number;
  hiddenSize: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  vocabSize: number;
  /** Most tokens (prompt and output together) a sequence can hold here. */
  contextTokens: number;
  parameters: number;
  /** Bytes of the weights as they lie on the device. */
  weightBytes: number;
  /** Bytes of KV per token, all layers. */
  kvBytesPerToken: number;
  /** Content digest or another stable name of exactly these weights; what KV blocks are bound to. */
  fingerprint: string;
  /** Those of the above that the engine has no way to know (a server does not tell its layers); numbers are 0 then. Absent: all are known. */
  unknown?: readonly string[];
}

/**
 * How an engine shares its steps between requests. `latency`: one request at a time, the others wait. `balanced`: as many as the backend can,
 * and prompts in pieces so small that those who are streaming hardly notice. `throughput`: as many as it can, and prompts as fast as it can.
 */
export type SchedulingPolicy = 'latency' | 'balanced' | 'throughput';

/** What an engine with a scheduler of its own says about it. */
export interface SchedulingInfo {
  policy: SchedulingPolicy;
  /** Requests that run at the same time. */
  maxBatch: number;
  /** Requests that may wait; one more is refused with `queue-full`. */
  maxQueued: number;
}

export interface EngineInfo {
  /** The engine that runs, never `auto`. */
  engine: LoadableEngineName | (string & {});
  /** Version of Tokenglass or of the library behind the engine. */
  version: string;
  model: ModelInfo;
  /** Absent when no GPU is used. */
  adapter?: AdapterInfo;
  /** CPU threads; absent when a GPU computes. */
  threads?: number;
  /** One sentence on why this engine was taken, in words a page can show. */
  reason: string;
  /** True if the engine runs in a worker. */
  worker: boolean;
  /** Where an engine runs that several pages share; absent for one that is not shared. */
  shared?: 'shared-worker' | 'this-tab' | 'another-tab';
  /** Absent for an engine whose requests are scheduled elsewhere (a server). */
  scheduling?: SchedulingInfo;
  /** True if KV of earlier requests is kept and found again; absent where it is not. */
  prefixCache?: boolean;
  /** How tokens are drafted (speculative decoding); absent where they are not. */
  speculation?: 'prompt-lookup' | 'draft-model';
  /** True if answers are taken down, so that one that was cut short can go on; absent where they are not. */
  resumable?: boolean;
}

/** Progress of loading a model, in bytes; `totalBytes` is absent while unknown. */
export interface LoadProgress {
  phase: 'download' | 'compile' | 'warm-up' | 'ready';
  loadedBytes: number;
  totalBytes?: number;
  /** What is being done, for people. */
  label: string;
  /** Of `loadedBytes`, those that came from the store on this device; absent where there is no store. */
  storedBytes?: number;
  /** Bytes per second from the network, over the last seconds; absent while none are fetched, or too few to tell. */
  bytesPerSecond?: number;
  /** Seconds left at that rate; absent while the rate or the total is unknown. */
  secondsLeft?: number;
  /** What a page should tell people, although the load goes on; the latest one stays until the end of the load. */
  warning?: LoadWarning;
}

/** Something that went wrong in a load, but does not end it. */
export interface LoadWarning {
  /** `not-saved`: the model runs, but will be downloaded again; `interrupted-load`: an earlier load of it never ended. */
  code: 'not-saved' | 'interrupted-load';
  /** A sentence for people. */
  message: string;
  /** For `not-saved`: bytes that were needed; absent if that was not known. */
  neededBytes?: number;
  /** For `not-saved`: bytes that there were; absent if that was not known. */
  availableBytes?: number;
  /** For `interrupted-load`: a smaller model of the catalog; absent if there is none. */
  smallerModel?: string;
}
