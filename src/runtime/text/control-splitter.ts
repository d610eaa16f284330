import { TextTrie } from './text-trie.ts';

/** A token that is found in text before anything else. */
export interface SpecialToken {
  id: number;
  text: string;
  /** Only found where control tokens are asked for. */
  isControl: boolean;
  /** White space after it belongs to it. */
  stripsRight: boolean;
}

/** Plain text, or the id of a special token. */
export type Fragment = string | number;

const encoder = new TextEncoder();
const LEADING_SPACE = /^[ \t\n\v\f\r]+/;

/**
 * Cuts special tokens out of text as llama.cpp does: the longest token (in bytes) is looked for everywhere, then the next longest in
 * what remains. That is not the same as the first match from the left where tokens overlap.
 */
export class ControlSplitter {
  readonly #specials: readonly SpecialToken[];
  readonly #trie: TextTrie;

  constructor(specials: readonly SpecialToken[]) {
    const bytes = new Map(specials.map((special) => [special, encoder.encode(special.text).length]));
    this.#specials = [...specials].sort((a, b) => bytes.get(b)! - bytes.get(a)!);
    this.#trie = new TextTrie(this.#specials.map(({ text }) => text));
  }

  /** The fragments of `text`, none of them empty. */
  split(text: string, parseControl: boolean): Fragment[] {
    // A vocabulary may have thousands of special tokens, a text has a few: find these in one pass.
    const indices = [...this.#trie.occurringIn(text)].sort((a, b) => a - b);
    let fragments: Fragment[] = text === '' ? [] : [text];
    for (const index of indices) {
      const special = this.#specials[index]!;
      if (special.isControl && !parseControl) continue;
      fragments = fragments.flatMap((fragment) => (typeof fragment === 'number' ? fragment : cut(fragment, special)));
    }
    return fragments;
  }
}

function cut(text: string, { id, text: token, stripsRight }: SpecialToken): Fragment[] {
  const fragments: Fragment[] = [];
  let rest = text;
  for (let at = rest.indexOf(token); at !== -1; at = rest.indexOf(token)) {
    if (at > 0) fragments.push(rest.slice(0, at));
    fragments.push(id);
    rest = rest.slice(at + token.length);
    if (stripsRight) rest = rest.replace(LEADING_SPACE, '');
  }
  if (rest !== '') fragments.push(rest);
  return fragments;
}
