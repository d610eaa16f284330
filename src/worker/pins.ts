import type { ChatMessage } from '../shared/generation.ts';
import type { PrefixCache } from '../shared/prefix-cache.ts';

/** How many clients have pinned what, for each cache that several may share. */
const counts = new WeakMap<PrefixCache, Map<string, number>>();

/** What one client has pinned: it stays pinned while any client wants it, and is let go of when the last such client is. */
export class Pins {
  readonly #cache: () => PrefixCache;
  readonly #own = new Map<string, readonly ChatMessage[]>();

  constructor(cache: () => PrefixCache) {
    this.#cache = cache;
  }

  async pin(messages: readonly ChatMessage[]): Promise<number> {
    const cache = this.#cache();
    const tokens = await cache.pin(messages);
    const key = JSON.stringify(messages);
    if (this.#own.has(key)) return tokens;
    this.#own.set(key, messages);
    const shared = counts.get(cache) ?? new Map<string, number>();
    counts.set(cache, shared.set(key, (shared.get(key) ?? 0) + 1));
    return tokens;
  }

  async unpin(messages: readonly ChatMessage[]): Promise<void> {
    const cache = this.#cache();
    const key = JSON.stringify(messages);
    const shared = counts.get(cache);
    if (this.#own.delete(key)) shared?.set(key, shared.get(key)! - 1);
    if (!shared?.get(key)) await cache.unpin(messages);
  }

  /** Lets go of all of them. */
  async release(): Promise<void> {
    for (const messages of [...this.#own.values()]) await this.unpin(messages);
  }
}
