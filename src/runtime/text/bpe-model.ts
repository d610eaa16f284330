import { SymbolMerger } from './symbol-merger.ts';
import { WordCache } from './word-cache.ts';

export interface BpeModelOptions {
  /** Id of each token; control tokens are left out, so that no merge can make one. */
  ids: ReadonlyMap<string, number>;
  /** Rank by `left right` (joined by a space); the lowest merges first. */
  ranks: ReadonlyMap<string, number>;
  /** Take a word that is a token as it is, without merging (Llama 3). @default false */
  ignoreMerges?: boolean;
  /** The word in the characters that tokens are written in. @default the word itself */
  prepare?: (word: string) => string;
  /** Appends the ids for a symbol that is no token. */
  onUnknown: (symbol: string, out: number[]) => void;
}

/** Byte-pair encoding of one word, by rank of the merges. */
export class BpeModel {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #ignoreMerges: boolean;
  readonly #prepare: (word: string) => string;
  readonly #onUnknown: (symbol: string, out: number[]) => void;
  readonly #merger: SymbolMerger;
  readonly #cache = new WordCache((word) => this.#merge(this.#prepare(word)));

  constructor({ ids, ranks, ignoreMerges = false, prepare = (word) => word, onUnknown }: BpeModelOptions) {
    this.#ids = ids;
    this.#ignoreMerges = ignoreMerges;
    this.#prepare = prepare;
    this.#onUnknown = onUnknown;
    this.#merger = new SymbolMerger(
      (text, start, middle, end) => ranks.get(`${text.slice(start, middle)} ${text.slice(middle, end)}`) ?? -1,
    );
  }

  /** Appends the ids of a word to `out`. */
  encode(word: string, out: number[]): void {
    this.#cache.append(word, out);
  }

  #merge(word: string): readonly number[] {
    const whole = this.#ignoreMerges ? this.#ids.get(word) : undefined;
    if (whole !== undefined) return [whole];
    const ids: number[] = [];
    this.#merger.merge(word, (start, end) => {
      const symbol = word.slice(start, end);
      const id = this.#ids.get(symbol);
      if (id === undefined) this.#onUnknown(symbol, ids);
      else ids.push(id);
    });
    return ids;
  }
}

/** Ranks of merges as a `tokenizer.json` or GGUF lists them: `left right`, or pairs. The first of equal ones counts. */
export function rankMerges(merges: readonly (string | readonly string[])[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (let rank = merges.length - 1; rank >= 0; rank--) {
    const merge = merges[rank]!;
    ranks.set(typeof merge === 'string' ? merge : `${merge[0]!} ${merge[1]!}`, rank);
  }
  return ranks;
}
