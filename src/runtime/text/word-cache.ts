/** Words longer than this are not kept: they rarely come again. */
const MAX_LENGTH = 64;
/** A prompt has a few thousand distinct words; the cache starts again beyond this many. */
const MAX_WORDS = 16_384;

/** Remembers the token ids of words. */
export class WordCache {
  readonly #encode: (word: string) => readonly number[];
  readonly #words = new Map<string, readonly number[]>();

  constructor(encode: (word: string) => readonly number[]) {
    this.#encode = encode;
  }

  /** Appends the ids of a word to `out`. */
  append(word: string, out: number[]): void {
    let ids = this.#words.get(word);
    if (ids === undefined) {
      ids = this.#encode(word);
      if (word.length <= MAX_LENGTH) {
        if (this.#words.size >= MAX_WORDS) this.#words.clear();
        this.#words.set(word, ids);
      }
    }
    for (const id of ids) out.push(id);
  }
}
