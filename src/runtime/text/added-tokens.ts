import type { Fragment } from './control-splitter.ts';
import { TextTrie } from './text-trie.ts';

/** A token of `added_tokens` in a `tokenizer.json`. */
export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
  /** It swallows white space before it. */
  lstrip: boolean;
  /** It swallows white space after it. */
  rstrip: boolean;
  /** It is looked for in normalized text. */
  normalized: boolean;
}

/** Cuts added tokens out of text as Hugging Face tokenizers do: from the left, the longest at each place. */
export class AddedTokenSplitter {
  readonly #tokens: readonly AddedToken[];
  readonly #trie: TextTrie;
  readonly #lengths: readonly number[];

  /** @param textOf what to look for; the content of the token unless it is looked for in normalized text */
  constructor(tokens: readonly AddedToken[], textOf: (token: AddedToken) => string = ({ content }) => content) {
    this.#tokens = tokens;
    this.#trie = new TextTrie(tokens.map(textOf));
    this.#lengths = tokens.map((token) => textOf(token).length);
  }

  /** The fragments of `text`, none of them empty. */
  split(text: string): Fragment[] {
    const fragments: Fragment[] = [];
    let start = 0;
    for (let at = 0; at < text.length;) {
      const index = this.#trie.longestAt(text, at);
      if (index === -1) {
        at++;
        continue;
      }
      const { id, lstrip, rstrip } = this.#tokens[index]!;
      const before = lstrip ? text.slice(start, at).trimEnd() : text.slice(start, at);
      if (before !== '') fragments.push(before);
      fragments.push(id);
      at += this.#lengths[index]!;
      if (rstrip) at = text.length - text.slice(at).trimStart().length;
      start = at;
    }
    if (start < text.length) fragments.push(text.slice(start));
    return fragments;
  }
}
