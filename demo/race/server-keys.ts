/** API keys as they were typed, one a server; they live in this object only. */
export class ServerKeys {
  readonly #keys = new Map<string, string>();

  /** @param key empty: the server has none */
  set(url: string, key: string): void {
    const origin = originOf(url);
    if (origin === undefined) return;
    if (key === '') this.#keys.delete(origin);
    else this.#keys.set(origin, key);
  }

  /** The key that was typed for the server at this address; undefined for every other one. */
  of(url: string): string | undefined {
    const origin = originOf(url);
    return origin === undefined ? undefined : this.#keys.get(origin);
  }
}

/** Scheme, host and port, to which a key is bound; undefined for what is no address. */
export function originOf(url: string): string | undefined {
  const base = typeof location === 'undefined' ? undefined : location.href;
  return url !== '' && URL.canParse(url, base) ? new URL(url, base).origin : undefined;
}
