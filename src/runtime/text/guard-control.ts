import { TextTrie } from './text-trie.ts';

/** Noncharacters of Unicode: never assigned, so they mean nothing in any text, and no template and no trimming touches them. */
const FIRST_GUARD = 0xfdd0;
const LAST_GUARD = 0xfdef;

/** A character that none of the texts contains; undefined if they contain every noncharacter of the block U+FDD0 to U+FDEF. */
export function chooseGuard(texts: readonly string[]): string | undefined {
  for (let code = FIRST_GUARD; code <= LAST_GUARD; code++) {
    const guard = String.fromCharCode(code);
    if (!texts.some((text) => text.includes(guard))) return guard;
  }
  return undefined;
}

/** Keeps control tokens in text of a user plain text; made once for a vocabulary. */
export class ControlGuard {
  readonly #forward: TextTrie;
  /** The texts backwards, to find the end of one at the start of a message. */
  readonly #backward: TextTrie;
  readonly #longest: number;

  constructor(controlTexts: readonly string[]) {
    this.#forward = new TextTrie(controlTexts);
    this.#backward = new TextTrie(controlTexts.map(reverse));
    this.#longest = controlTexts.reduce((longest, { length }) => Math.max(longest, length), 0);
  }

  /**
   * Interrupts every control token in `text` with `guard` after its first character. A part of one at either end is interrupted as
   * well, since what the template puts beside it might complete it. (A control token of a single character cannot be interrupted,
   * nor can the last character of one at the start; no known vocabulary and template come to that.)
   */
  interrupt(text: string, guard: string): string {
    const starts = new Set<number>();
    for (let at = 0; at < text.length; at++) if (this.#forward.longestAt(text, at) !== -1) starts.add(at);
    for (let at = Math.max(0, text.length - this.#longest); at < text.length; at++) {
      if (this.#forward.isBeginningAt(text, at)) starts.add(at);
    }
    for (let length = 2; length <= Math.min(this.#longest, text.length); length++) {
      if (this.#backward.isBeginningAt(reverse(text.slice(0, length)), 0)) starts.add(0);
    }
    let guarded = '';
    let end = 0;
    for (const start of [...starts].sort((a, b) => a - b)) {
      const cut = start + (text.codePointAt(start)! > 0xffff ? 2 : 1);
      guarded += text.slice(end, cut) + guard;
      end = cut;
    }
    return guarded + text.slice(end);
  }
}

/** The UTF-16 units backwards. */
function reverse(text: string): string {
  let reversed = '';
  for (let i = text.length - 1; i >= 0; i--) reversed += text.charAt(i);
  return reversed;
}
