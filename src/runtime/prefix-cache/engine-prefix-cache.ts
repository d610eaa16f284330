import type { ChatMessage } from '../../shared/generation.ts';
import type { CachedPrefix, PrefillResult, PrefixCache, PrefixCacheStats } from '../../shared/prefix-cache.ts';
import type { KvCache } from './kv-cache.ts';
import { createTokenDecoder } from '../text/token-decoder.ts';
import type { Tokenizer } from '../text/tokenizer.ts';

export interface EnginePrefixCacheParts {
  cache: KvCache;
  tokenizer: Tokenizer;
  /** Checks messages of unknown origin and gives the ids of their prompt. */
  encode: (messages: readonly ChatMessage[]) => Promise<readonly number[]>;
  /** Runs a request that gives no answer, only its KV. */
  prefill: (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<PrefillResult>;
  /** Forgets what is kept beside the blocks. */
  onClear: () => Promise<void>;
}

/** Tokens that the preview of a chain is made of. */
const PREVIEW_TOKENS = 48;

/** The calls of {@link PrefixCache}, in terms of messages, over a cache in terms of tokens. */
export class EnginePrefixCache implements PrefixCache {
  readonly #parts: EnginePrefixCacheParts;

  constructor(parts: EnginePrefixCacheParts) {
    this.#parts = parts;
  }

  async prefill(messages: readonly ChatMessage[], signal?: AbortSignal): Promise<PrefillResult> {
    const result = await this.#parts.prefill(messages, signal);
    await this.#parts.cache.settled();
    return result;
  }

  async pin(messages: readonly ChatMessage[]): Promise<number> {
    return this.#parts.cache.pin(await this.#parts.encode(messages));
  }

  async unpin(messages: readonly ChatMessage[]): Promise<void> {
    this.#parts.cache.unpin(await this.#parts.encode(messages));
  }

  async inspect(): Promise<CachedPrefix[]> {
    await this.#parts.cache.settled();
    const chains = await this.#parts.cache.chains();
    return chains.map(({ ids, memoryTokens, storedTokens, pinned }) => ({
      tokens: ids.length,
      preview: this.#previewOf(ids),
      memoryTokens,
      storedTokens,
      pinned,
    }));
  }

  async clear(): Promise<void> {
    await this.#parts.cache.clear();
    await this.#parts.onClear();
  }

  async stats(): Promise<PrefixCacheStats> {
    await this.#parts.cache.settled();
    return this.#parts.cache.stats();
  }

  #previewOf(ids: readonly number[]): string {
    const decoder = createTokenDecoder(this.#parts.tokenizer, { continuesText: false });
    return ids.slice(0, PREVIEW_TOKENS).reduce((text, id) => text + decoder.push(id), '') + decoder.flush();
  }
}
