/** What SentencePiece writes for a space. */
export const SPACE_MARK = '\u2581';

/**
 * Cuts text of a SentencePiece vocabulary into words that can be tokenized (and remembered) one by one. Such vocabularies merge over
 * a whole text; a cut before a space mark changes nothing as long as no token has the unit before it and the mark within.
 */
export class MarkedWords {
  /** UTF-16 units that stand before a mark within some token; the mark itself, in most vocabularies. */
  readonly #joinedUnits = new Set([SPACE_MARK.charCodeAt(0)]);

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) {
      for (let mark = token.indexOf(SPACE_MARK, 1); mark !== -1; mark = token.indexOf(SPACE_MARK, mark + 1)) {
        this.#joinedUnits.add(token.charCodeAt(mark - 1));
      }
    }
  }

  /** Calls `visit` for each word, first to last; joined they are the text. */
  split(text: string, visit: (word: string) => void): void {
    let start = 0;
    for (let mark = text.indexOf(SPACE_MARK, 1); mark !== -1; mark = text.indexOf(SPACE_MARK, mark + 1)) {
      if (this.#joinedUnits.has(text.charCodeAt(mark - 1))) continue;
      visit(text.slice(start, mark));
      start = mark;
    }
    if (start < text.length) visit(text.slice(start));
  }
}
