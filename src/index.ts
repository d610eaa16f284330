/** Tokenglass: the in-page LLM runtime you can see through. */
export { createEngine, type CreateEngineOptions } from './worker/create-engine.ts';
export type { Engine, EngineEvents, EngineMetrics } from './runtime/engine/engine.ts';
export { isTokenglassError, TokenglassError, type ErrorCode } from './shared/errors.ts';
export type {
  ChatMessage,
  ChatRole,
  FinishReason,
  GenerateRequest,
  OutputToken,
  SamplingParams,
  TokenEvent,
  TokenLogprob,
  Usage,
} from './shared/generation.ts';
export type { AdapterInfo, EngineInfo, EngineName, LoadProgress, ModelInfo } from './shared/info.ts';
export type { RequestMarks, RequestTrace, StepTrace, StepTiming } from './shared/trace.ts';
