import { MarkedWords } from './marked-words.ts';
import { SymbolMerger } from './symbol-merger.ts';
import { WordCache } from './word-cache.ts';

export interface SentencePieceOptions {
  /** Id of each token; control and byte tokens are left out. */
  ids: ReadonlyMap<string, number>;
  /** Score by id; pairs that make a token of a higher score merge first. */
  scores: ArrayLike<number>;
  /** Id for a byte that no token covers; undefined if the vocabulary has none. */
  byteId: (byte: number) => number | undefined;
}

const encoder = new TextEncoder();

/** Tokenization by scores: the neighbours that make the token of the highest score merge first. */
export class SentencePieceModel {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #byteId: (byte: number) => number | undefined;
  readonly #merger: SymbolMerger;
  readonly #words: MarkedWords;
  readonly #cache = new WordCache((word) => this.#merge(word));

  constructor({ ids, scores, byteId }: SentencePieceOptions) {
    const ranks = rankScores(ids, scores);
    this.#ids = ids;
    this.#byteId = byteId;
    this.#words = new MarkedWords(ids.keys());
    this.#merger = new SymbolMerger((text, start, _middle, end) => {
      const id = ids.get(text.slice(start, end));
      return id === undefined ? -1 : ranks[id]!;
    });
  }

  /** Appends the ids of a text, spaces of which are already marks. */
  encode(text: string, out: number[]): void {
    this.#words.split(text, (word) => this.#cache.append(word, out));
  }

  #merge(word: string): number[] {
    const out: number[] = [];
    this.#merger.merge(word, (start, end) => {
      const piece = word.slice(start, end);
      const id = this.#ids.get(piece);
      if (id === undefined) this.#encodeBytes(piece, out);
      else out.push(id);
    });
    return out;
  }

  #encodeBytes(piece: string, out: number[]): void {
    for (const byte of encoder.encode(piece)) {
      const id = this.#byteId(byte);
      if (id !== undefined) out.push(id);
    }
  }
}

/** Position of each token's score among all scores, highest first; equal scores share one, so that the leftmost pair goes first. */
function rankScores(ids: ReadonlyMap<string, number>, scores: ArrayLike<number>): Uint32Array {
  const order = [...ids.values()].sort((a, b) => scores[b]! - scores[a]!);
  const ranks = new Uint32Array(scores.length);
  let rank = 0;
  order.forEach((id, index) => {
    if (index > 0 && scores[id] !== scores[order[index - 1]!]) rank++;
    ranks[id] = rank;
  });
  return ranks;
}
