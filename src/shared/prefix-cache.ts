import type { ChatMessage } from './generation.ts';

/** How much the prefix cache may keep. */
export interface PrefixCacheOptions {
  /** Bytes of KV in memory. @default 256 MiB */
  memoryBytes?: number;
  /** Bytes of KV in IndexedDB, all models of this origin together; 0 stores nothing. @default 512 MiB */
  storedBytes?: number;
}

/** Counts since the engine was created, and what is there now. */
export interface PrefixCacheStats {
  /** Requests that were looked up, and their prompt tokens. */
  lookups: number;
  promptTokens: number;
  /** Of those, tokens whose KV came from memory, and from IndexedDB. */
  memoryTokens: number;
  storedTokens: number;
  /** (memoryTokens + storedTokens) / promptTokens; absent before the first look-up. */
  hitRate?: number;
  /** Tokens of a block: only whole blocks are kept. */
  blockTokens: number;
  /** Bytes of KV per token as it is stored. */
  bytesPerToken: number;
  memory: { blocks: number; bytes: number; evicted: number };
  /** Blocks of this model; absent where there is no IndexedDB or it is turned off. */
  stored?: { blocks: number; bytes: number; evicted: number; rejected: number };
  /** What the last failure of IndexedDB said; the cache goes on without what it could not read or write. */
  storageFault?: string;
}

/** A chain of blocks that begins a prompt. */
export interface CachedPrefix {
  /** Tokens of it, from the beginning. */
  tokens: number;
  /** How its text begins. */
  preview: string;
  /** How many of the tokens are in memory, and in IndexedDB. */
  memoryTokens: number;
  storedTokens: number;
  pinned: boolean;
}

/** What {@link PrefixCache.prefill} did. */
export interface PrefillResult {
  promptTokens: number;
  /** Of them, those that were cached already. */
  cachedTokens: number;
}

/**
 * The KV of earlier prompts and answers, found again by content: a next turn, a regenerated answer, another conversation with the
 * same system prompt, a reload or a second tab compute only what is new. It works without being asked; these calls are for pages
 * that want more.
 */
export interface PrefixCache {
  /**
   * Computes the KV of these messages now, so that a request that begins with them answers sooner. Queued like a request.
   * @throws TokenglassError as `Engine.generate`; `AbortError`
   */
  prefill(messages: readonly ChatMessage[], signal?: AbortSignal): Promise<PrefillResult>;
  /** Lets what begins these messages go last when room is needed, for as long as this engine lives. Resolves to the tokens that are kept. */
  pin(messages: readonly ChatMessage[]): Promise<number>;
  /** Undoes {@link pin}. */
  unpin(messages: readonly ChatMessage[]): Promise<void>;
  /** The chains of this model, longest first. */
  inspect(): Promise<CachedPrefix[]>;
  /** Forgets everything: in memory, and in IndexedDB for all models. */
  clear(): Promise<void>;
  stats(): Promise<PrefixCacheStats>;
}
