import { SymbolMerger } from './symbol-merger.ts';
import { WordCache } from './word-cache.ts';

/** What SentencePiece writes for a space. */
export const SPACE_MARK = '\u2581';

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
  readonly #joinedUnits: ReadonlySet<number>;
  readonly #cache = new WordCache((word) => this.#merge(word));

  constructor({ ids, scores, byteId }: SentencePieceOptions) {
    const ranks = rankScores(ids, scores);
    this.#ids = ids;
    this.#byteId = byteId;
    this.#joinedUnits = findJoinedUnits(ids.keys());
    this.#merger = new SymbolMerger((text, start, _middle, end) => {
      const id = ids.get(text.slice(start, end));
      return id === undefined ? -1 : ranks[id]!;
    });
  }

  /** Appends the ids of a text, spaces of which are already marks. */
  encode(text: string, out: number[]): void {
    let start = 0;
    for (let mark = text.indexOf(SPACE_MARK, 1); mark !== -1; mark = text.indexOf(SPACE_MARK, mark + 1)) {
      if (this.#joinedUnits.has(text.charCodeAt(mark - 1))) continue;
      this.#cache.append(text.slice(start, mark), out);
      start = mark;
    }
    if (start < text.length) this.#cache.append(text.slice(start), out);
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

/**
 * UTF-16 units that stand before a space mark within some token, the mark itself in most vocabularies. Before any other mark a text
 * can be cut into words that are tokenized (and remembered) one by one: a merge across the cut would make no token.
 */
function findJoinedUnits(tokens: Iterable<string>): Set<number> {
  const units = new Set([SPACE_MARK.charCodeAt(0)]);
  for (const token of tokens) {
    for (let mark = token.indexOf(SPACE_MARK, 1); mark !== -1; mark = token.indexOf(SPACE_MARK, mark + 1)) {
      units.add(token.charCodeAt(mark - 1));
    }
  }
  return units;
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

/** The text of a byte token, `<0x0A>`. */
export function byteTokenText(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/** The byte of a token such as `<0x0A>`; undefined for any other text. */
export function parseByteToken(text: string): number | undefined {
  const match = /^<0x([0-9A-Fa-f]{2})>$/.exec(text);
  return match === null ? undefined : Number.parseInt(match[1]!, 16);
}
