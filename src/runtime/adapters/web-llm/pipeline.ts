import type { MlcEngine } from './library.ts';

/** Fields of `mlc-chat-config.json` that are read here. */
export interface MlcChatConfig {
  model_type?: string;
  quantization?: string;
  vocab_size?: number;
  context_window_size?: number;
  sliding_window_size?: number;
  temperature?: number;
  tokenizer_info?: { token_postproc_method?: string };
  conv_template: MlcConversationTemplate;
  conv_config?: Partial<MlcConversationTemplate>;
  model_config?: Readonly<Record<string, unknown>>;
}

/** The chat template of MLC: strings that are put together. */
export interface MlcConversationTemplate {
  system_template: string;
  system_message: string;
  system_prefix_token_ids?: readonly number[] | null;
  render_empty_system_message?: boolean;
  add_role_after_system_message?: boolean;
  roles: Readonly<Record<string, string>>;
  role_templates?: Readonly<Record<string, string>>;
  seps: readonly string[];
  role_content_sep?: string;
  role_empty_sep?: string;
}

/** What sees and may change the logits before the library samples from them. */
export interface MlcLogitProcessor {
  processLogits(logits: Float32Array): Float32Array;
  processSampledToken(id: number): void;
  resetState(): void;
}

/**
 * The library's pipeline of a model, which its types call private: only here are there ids of tokens, their times, and the prompt's true length.
 * Same names in 0.2.79 and 0.2.86; {@link pipelineOf} gives nothing where one of them is missing.
 */
export interface MlcPipeline {
  config: MlcChatConfig;
  tokenizer: { encode(text: string): ArrayLike<number>; idToToken(id: number): string; getVocabSize(): number };
  /** Tokens with KV: after a prefill the whole prompt, whatever was computed of it. */
  filledKVCacheLength: number;
  contextWindowSize: number;
  logitProcessor: MlcLogitProcessor | undefined;
  /** Called with each sampled token, end tokens included, once its id is known. */
  processNextToken(id: number, ...rest: unknown[]): void;
  getCurRoundPrefillTotalTokens(): number;
  /** Seconds. */
  getCurRoundPrefillTotalTime(): number;
  getCurRoundDecodingTotalTime(): number;
  getFinishReason(): string | undefined;
  tvm?: {
    lib?: { webGPUContext?: { device?: GPUDevice } };
    /** `metadata` of tensor-cache.json. */
    cacheMetadata?: { ParamBytes?: number; BitsPerParam?: number };
  };
}

/** The pipeline of a loaded model; nothing for an engine in a worker, and for a version of the library that is built differently. */
export function pipelineOf(engine: MlcEngine, modelId: string): MlcPipeline | undefined {
  const { loadedModelIdToPipeline: pipelines } = engine as MlcEngine & { loadedModelIdToPipeline?: unknown };
  const pipeline = pipelines instanceof Map ? (pipelines.get(modelId) as Partial<MlcPipeline> | undefined) : undefined;
  if (!pipeline) return undefined;
  const { filledKVCacheLength, contextWindowSize, tokenizer, config } = pipeline;
  const isKnown =
    typeof filledKVCacheLength === 'number' &&
    typeof contextWindowSize === 'number' &&
    METHODS.every((name) => typeof pipeline[name] === 'function') &&
    typeof tokenizer?.encode === 'function' &&
    config?.conv_template !== undefined;
  return isKnown ? (pipeline as MlcPipeline) : undefined;
}

const METHODS = [
  'processNextToken',
  'getCurRoundPrefillTotalTokens',
  'getCurRoundPrefillTotalTime',
  'getCurRoundDecodingTotalTime',
  'getFinishReason',
] as const;

/** The GPU device that the pipeline runs on, where it can be seen. */
export const deviceOf = (pipeline: MlcPipeline | undefined): GPUDevice | undefined =>
  pipeline?.tvm?.lib?.webGPUContext?.device;

/** Calls `onToken` with every token that the pipeline samples, until the returned function is called. */
export function watchTokens(pipeline: MlcPipeline, onToken: (id: number) => void): () => void {
  const hadOwn = Object.hasOwn(pipeline, 'processNextToken');
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called on the pipeline below
  const original = pipeline.processNextToken;
  pipeline.processNextToken = (id, ...rest) => {
    onToken(id);
    original.call(pipeline, id, ...rest);
  };
  return () => {
    if (hadOwn) pipeline.processNextToken = original;
    else delete (pipeline as Partial<MlcPipeline>).processNextToken;
  };
}
