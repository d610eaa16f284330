import { createCodeFigure } from './dress-blocks.ts';

const OPENING = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\n]*)\n/;
const MAYBE_CLOSING = /^ {0,3}[`~]*[ \t]*$/;

/**
 * A code fence that has not been closed yet. Its text needs no parsing: whole lines are appended as they come, so a long
 * block of code costs what it is long.
 */
export class OpenFence {
  readonly element: HTMLElement;
  readonly #code: HTMLElement;
  readonly #closing: RegExp;
  readonly #indent: RegExp;
  readonly #partial = document.createTextNode('');
  #line = '';

  private constructor(indent: string, fence: string, language: string) {
    const figure = createCodeFigure(language);
    this.element = figure.element;
    this.#code = figure.code;
    this.#code.append(this.#partial);
    this.#closing = new RegExp(`^ {0,3}${fence}[~\`]*[ \\t]*$`);
    this.#indent = new RegExp(`^ {0,${indent.length}}`);
  }

  /** The fence that `raw` opens and does not close; undefined if it is no fence or is closed. */
  static of(raw: string): { fence: OpenFence } | undefined {
    const match = OPENING.exec(raw);
    if (!match) return undefined;
    const [opening, indent = '', marks = '', info = ''] = match;
    const fence = new OpenFence(indent, marks, info.trim().split(/\s/)[0] ?? '');
    return fence.feed(raw.slice(opening.length)) === undefined ? { fence } : undefined;
  }

  /** Takes more text. Returns what comes after the closing line, once there is one. */
  feed(text: string): string | undefined {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      const line = this.#line + text.slice(from, end);
      this.#line = '';
      from = end + 1;
      if (this.#closing.test(line)) {
        this.#partial.remove();
        return text.slice(from);
      }
      this.#partial.before(`${line.replace(this.#indent, '')}\n`);
    }
    this.#line += text.slice(from);
    // A line that may turn out to be the closing fence is not shown and taken away again.
    this.#partial.data = MAYBE_CLOSING.test(this.#line) ? '' : this.#line.replace(this.#indent, '');
    return undefined;
  }

  /** The text has ended inside the fence. */
  finish(): void {
    if (this.#closing.test(this.#line)) this.#partial.remove();
    else if (this.#line !== '') this.#partial.data = `${this.#line.replace(this.#indent, '')}\n`;
  }
}
