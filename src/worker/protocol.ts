import type { ChatMessage, GenerateRequest, TokenEvent } from '../shared/generation.ts';
import type { EngineInfo, LoadProgress } from '../shared/info.ts';
import type { PartUrls } from '../shared/parts.ts';
import type { CachedPrefix, PrefillResult, PrefixCacheStats } from '../shared/prefix-cache.ts';
import type { ResumableAnswer } from '../shared/resumable.ts';
import type { EngineEvents } from '../runtime/request/engine.ts';
import type { LocalEngineOptions } from '../runtime/load/create-local-engine.ts';
import type { WireError } from './error-transfer.ts';

/** What crosses the edge of the worker. Calls go through Comlink; tokens, metrics and progress over one port, in batches. */

/** Options of a load that can be cloned into a worker. */
export type LoadOptions = Omit<LocalEngineOptions, 'onProgress' | 'signal' | 'gpu'>;

/** The calls, exposed by the host through Comlink. */
export interface EngineHost {
  /**
   * Loads the engine and streams to `port` from then on. `aliveLock` is held by the worker for as long as it lives, `parts` are the
   * files that the page has found for it.
   * @throws TokenglassError of the load
   */
  load(
    options: LoadOptions & { parts: PartUrls },
    port: MessagePort,
    aliveLock: string | undefined,
  ): Promise<EngineInfo>;
  /** Aborts a load that is under way. */
  cancelLoad(): void;
  countTokens(input: { messages: readonly ChatMessage[] } | { prompt: string }): Promise<number>;
  /** `PrefixCache.prefill`, with an id of the caller's to cancel it by. */
  prefill(id: number, messages: readonly ChatMessage[]): Promise<PrefillResult>;
  cancelPrefill(id: number): void;
  /** The other calls of `PrefixCache`. */
  pinPrefix(messages: readonly ChatMessage[]): Promise<number>;
  unpinPrefix(messages: readonly ChatMessage[]): Promise<void>;
  inspectPrefixes(): Promise<CachedPrefix[]>;
  clearPrefixes(): Promise<void>;
  prefixStats(): Promise<PrefixCacheStats>;
  resumable(): Promise<ResumableAnswer[]>;
  discard(answer: string): Promise<void>;
  dispose(): Promise<void>;
}

/** Page to worker, over the port: one message a request, no reply awaited. */
export type ToHost =
  | { type: 'generate'; id: number; request: GenerateRequest }
  /** Goes on with an answer that was cut short; `id` as in `generate`. */
  | { type: 'resume'; id: number; answer: string }
  | { type: 'abort'; id: number }
  /** Which metrics events are wanted; none at the start. */
  | { type: 'subscribe'; events: readonly (keyof EngineEvents)[] };

/** Worker to page, over the port, in the order of happening. */
export type FromHost =
  /** The worker runs, and holds its alive lock, where there are locks: from now on its release means death. */
  | { type: 'alive' }
  | { type: 'progress'; progress: LoadProgress }
  | { type: 'token'; id: number; event: TokenEvent }
  | { type: 'done'; id: number; error?: WireError }
  | { type: 'metric'; name: keyof EngineEvents; event: EngineEvents[keyof EngineEvents] };

/** One message: everything since the last one. */
export type FromHostBatch = readonly FromHost[];
