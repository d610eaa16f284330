/** Text of an answer, apart from the thoughts before it. */
export interface SplitText {
  reasoning: string;
  content: string;
}

const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * Splits `<think>thoughts</think>` at the head of an answer from what follows, piece by piece. Line ends around the marks belong to neither.
 * Where no thoughts begin at the head, everything is content: marks further on are words of the answer.
 */
export class ReasoningSplitter {
  #phase: 'head' | 'reasoning' | 'after' | 'content' = 'head';
  #held = '';

  /** @param promptTail the end of the prompt, where some templates open the thoughts themselves */
  constructor(promptTail = '') {
    if (promptTail.trimEnd().endsWith(OPEN)) this.#enterReasoning('');
  }

  push(piece: string): SplitText {
    const out = { reasoning: '', content: '' };
    this.#held += piece;
    if (this.#phase === 'head') this.#readHead();
    if (this.#phase === 'reasoning') out.reasoning = this.#readReasoning();
    if (this.#phase === 'after') {
      this.#held = this.#held.trimStart();
      if (this.#held !== '') this.#phase = 'content';
    }
    if (this.#phase === 'content') {
      out.content = this.#held;
      this.#held = '';
    }
    return out;
  }

  /** What was held back, when nothing follows. */
  flush(): SplitText {
    const held = this.#held;
    this.#held = '';
    if (this.#phase === 'reasoning') return { reasoning: held.trimEnd(), content: '' };
    return { reasoning: '', content: held };
  }

  #readHead(): void {
    const head = this.#held.trimStart();
    if (head.startsWith(OPEN)) this.#enterReasoning(head.slice(OPEN.length));
    else if (!OPEN.startsWith(head)) this.#phase = 'content';
  }

  #enterReasoning(rest: string): void {
    this.#phase = 'reasoning';
    this.#held = rest;
    this.#isReasoningEmpty = true;
  }

  #isReasoningEmpty = true;

  #readReasoning(): string {
    if (this.#isReasoningEmpty) this.#held = this.#held.trimStart();
    const end = this.#held.indexOf(CLOSE);
    if (end >= 0) {
      const reasoning = this.#held.slice(0, end).trimEnd();
      this.#held = this.#held.slice(end + CLOSE.length);
      this.#phase = 'after';
      return reasoning;
    }
    const safe = this.#held.slice(0, this.#held.length - heldLength(this.#held, [CLOSE])).trimEnd();
    this.#held = this.#held.slice(safe.length);
    if (safe !== '') this.#isReasoningEmpty = false;
    return safe;
  }
}

/** Length of the longest end of `text` with which one of the marks begins, but is not complete. */
export function heldLength(text: string, marks: readonly string[]): number {
  let longest = 0;
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(mark.slice(0, length))) longest = length;
    }
  }
  return longest;
}
