/** Hash of n tokens from that of the n - 1 before; collisions are found out by comparing tokens. */
const step = (hash: number, token: number): number => {
  const product = Math.imul(hash ^ token, 0x9e3779b1);
  return (product ^ (product >>> 15)) >>> 0;
};

/**
 * Where the last n tokens of a growing list were seen before, for a few n. A token costs one look-up and one entry for each n, however long
 * the list is.
 */
export class NgramIndex {
  readonly #sizes: readonly number[];
  readonly #tokens: number[] = [];
  /** By size: hash of an n-gram to the index after its latest occurrence. */
  readonly #after: readonly Map<number, number>[];
  /** By size: index after the latest occurrence, before the end, of the n tokens at the end. */
  readonly #matches: (number | undefined)[];

  /** @param sizes lengths of n-grams, longest first */
  constructor(sizes: readonly number[]) {
    this.#sizes = sizes;
    this.#after = sizes.map(() => new Map<number, number>());
    this.#matches = sizes.map(() => undefined);
  }

  get tokens(): readonly number[] {
    return this.#tokens;
  }

  append(token: number): void {
    this.#tokens.push(token);
    const end = this.#tokens.length;
    for (const [at, size] of this.#sizes.entries()) {
      if (end < size) continue;
      let hash = 0x811c9dc5;
      for (let i = end - size; i < end; i++) hash = step(hash, this.#tokens[i]!);
      const entries = this.#after[at]!;
      const before = entries.get(hash);
      this.#matches[at] = before !== undefined && this.#isSame(before, end, size) ? before : undefined;
      entries.set(hash, end);
    }
  }

  /** The latest earlier occurrence of the longest n-gram at the end: the index after it. */
  get match(): { after: number; size: number } | undefined {
    for (const [at, size] of this.#sizes.entries()) {
      const after = this.#matches[at];
      if (after !== undefined) return { after, size };
    }
    return undefined;
  }

  #isSame(first: number, second: number, size: number): boolean {
    for (let i = 1; i <= size; i++) if (this.#tokens[first - i] !== this.#tokens[second - i]) return false;
    return true;
  }
}
