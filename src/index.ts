/** Tokenglass: the in-page LLM runtime you can see through. */
export { createEndpointEngine, type EndpointOptions } from './runtime/adapters/endpoint/create-endpoint-engine.ts';
export type { WebLlmModel } from './runtime/adapters/web-llm/web-llm-model.ts';
export { installLanguageModel, type InstallOptions } from './runtime/faces/language-model/install-language-model.ts';
export { createEngine, type CreateEngineOptions, type OpenAiEngine } from './worker/create-engine.ts';
export type { Engine, EngineEvents, EngineMetrics } from './runtime/request/engine.ts';
export type { SpeculationOption, SpeculationOptions } from './runtime/load/create-speculator.ts';
export type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  ChatMessageParam,
  ToolCall,
  ToolParam,
} from './runtime/faces/openai/chat-shapes.ts';
export type { ChatCompletionStream, OpenAiFace } from './runtime/faces/openai/create-openai.ts';
export type { CompletionUsage, RequestTimings } from './runtime/faces/openai/usage.ts';
export { takeInterruptedLoads, type InterruptedLoad } from './runtime/load/breadcrumb.ts';
export { CATALOG, type CatalogEntry, type CatalogHubFiles } from './runtime/models/catalog-entries.ts';
export type { ModelSpec } from './runtime/models/catalog.ts';
export { collectFiles, type NamedFile } from './runtime/models/file-source.ts';
export {
  createModelStore,
  type ModelStore,
  type ModelStoreOptions,
  type StoredFileInfo,
  type StoredModelInfo,
  type StoreUsage,
} from './runtime/models/store/model-store.ts';
export type { EngineName } from './shared/engines.ts';
export { isTokenglassError, TokenglassError, type ErrorCode } from './shared/errors.ts';
export type {
  ChatMessage,
  ChatRole,
  FinishReason,
  GenerateRequest,
  OutputGrammar,
  OutputToken,
  Priority,
  SamplingParams,
  TokenEvent,
  TokenLogprob,
  Usage,
} from './shared/generation.ts';
export type {
  AdapterInfo,
  EngineInfo,
  LoadProgress,
  LoadWarning,
  ModelInfo,
  SchedulingInfo,
  SchedulingPolicy,
} from './shared/info.ts';
export type {
  CachedPrefix,
  PrefillResult,
  PrefixCache,
  PrefixCacheOptions,
  PrefixCacheStats,
} from './shared/prefix-cache.ts';
export type { ResumableAnswer } from './shared/resumable.ts';
export type { RequestMarks, RequestTrace, StepTrace, StepTiming } from './shared/trace.ts';
