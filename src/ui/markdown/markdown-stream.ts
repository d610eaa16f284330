import type { Token } from 'marked';
import { OpenContainer, splitContainer } from './open-container.ts';
import { OpenFence } from './open-fence.ts';
import { lexBlocks, renderTokens, type LinkDefinitions } from './parse.ts';

/** An open block longer than this is read again only when it has grown by an eighth: the sum of all readings stays linear. */
const EAGER_CHARACTERS = 2048;
const GROWTH = 1 / 8;

/** What rendering has cost so far; linear in the length of the text, whatever it holds. */
export interface MarkdownCost {
  /** Calls of `render` that changed the page. */
  renders: number;
  /** Characters given to the Markdown parser, those read again included. */
  parsedCharacters: number;
}

/**
 * Renders Markdown that is still being written. Blocks that can no longer change become nodes once and are never touched
 * again; only the open block at the end is read again as it grows, and of a list, table or code fence only the last item, row
 * or line. A link definition is known to the blocks after it, not to those before.
 */
export class MarkdownStream {
  readonly cost: MarkdownCost = { renders: 0, parsedCharacters: 0 };
  readonly #root: Element;
  readonly #links = Object.create(null) as LinkDefinitions;
  /** Source of what is still open, without what waits in `#pending`. */
  #tail = '';
  /** Stands before the tail when it is parsed, so that a row is still read as a row. */
  #prefix = '';
  #pending = '';
  #parsedLength = 0;
  #openType = '';
  #openNodes: ChildNode[] = [];
  /** At the end of the open block: what has come since it was parsed. */
  #raw: Text | undefined;
  #fence: OpenFence | undefined;
  #container: OpenContainer | undefined;

  /** @param root - emptied, then filled with the blocks */
  constructor(root: Element) {
    this.#root = root;
    root.replaceChildren();
  }

  append(text: string): void {
    this.#pending += text;
  }

  /** Brings the page up to date. To be called once a frame at most. */
  render(): void {
    this.#update(false);
  }

  /** The text is complete. */
  finish(): void {
    this.#update(true);
    this.#fence?.finish();
  }

  #update(final: boolean): void {
    if (this.#pending === '' && !(final && this.#parsedLength < this.#tail.length)) return;
    this.cost.renders += 1;
    let added = this.#takePending(final);
    if (this.#fence) {
      const rest = this.#fence.feed(added);
      if (rest === undefined) return;
      this.#fence = undefined;
      added = rest;
    }
    const closesParagraph = this.#openType === 'paragraph' && /\n[ \t]*\n/.test(this.#tail.slice(-1) + added);
    this.#tail += added;
    if (this.#tail === '') return;
    const eager = this.#tail.length <= EAGER_CHARACTERS;
    const grown = this.#tail.length >= this.#parsedLength * (1 + GROWTH);
    if (final || eager || grown || closesParagraph) this.#parseTail();
    else this.#showRaw();
  }

  #takePending(final: boolean): string {
    // A carriage return may be half of a line end whose other half has yet to come.
    const held = !final && this.#pending.endsWith('\r') ? '\r' : '';
    const text = this.#pending.slice(0, this.#pending.length - held.length).replace(/\r\n?/g, '\n');
    this.#pending = held;
    return text;
  }

  #parseTail(): void {
    const source = this.#prefix + this.#tail;
    const tokens = lexBlocks(source, this.#links);
    this.cost.parsedCharacters += source.length;
    for (const node of this.#openNodes) node.remove();
    this.#openNodes = [];
    this.#raw = undefined;

    const first = tokens[0];
    if (this.#container && !this.#container.continues(first)) this.#closeContainer();

    const lastIndex = tokens.findLastIndex((token) => token.type !== 'space');
    const last = tokens[lastIndex];
    if (last === undefined) {
      this.#parsedLength = this.#tail.length;
      return;
    }
    const openSource = tokens
      .slice(lastIndex)
      .map((token) => token.raw)
      .join('');
    // The lexer's raw texts add up to the source; were they ever not to, the whole tail is simply read again next time.
    const exact = source.endsWith(openSource);
    const finished = exact ? tokens.slice(0, lastIndex) : [];
    for (const token of finished) this.#appendFinished(token);
    if (finished.length > 0) this.#closeContainer();

    if (exact && finished.length === 0 && this.#prefix !== '') this.#tail = openSource.slice(this.#prefix.length);
    else if (exact) [this.#tail, this.#prefix] = [openSource, ''];
    if (exact) this.#appendOpen(last);
    else this.#openNodes = this.#appendAll(tokens);
    this.#parsedLength = this.#tail.length;
  }

  #appendFinished(token: Token): void {
    if (this.#container?.continues(token)) this.#container.append(token);
    else this.#root.append(renderTokens([token]));
    this.#closeContainer();
  }

  #appendOpen(token: Token): void {
    this.#openType = token.type;
    if (token.type === 'code') {
      const opened = OpenFence.of(this.#tail);
      if (opened) {
        this.#fence = opened.fence;
        this.#root.append(opened.fence.element);
        this.#tail = '';
        this.#openType = '';
        return;
      }
    }
    const split = splitContainer(token);
    if (split) {
      if (this.#container) this.#container.append(split.finished);
      else this.#openContainer(split.finished);
      this.#tail = this.#tail.slice(split.consumed - this.#prefix.length);
      this.#prefix = split.prefix;
    }
    const open = split ? split.open : token;
    this.#openNodes = this.#container ? this.#container.append(open) : this.#appendAll([open]);
  }

  #openContainer(token: Token): void {
    this.#container = OpenContainer.of(token);
    this.#root.append(this.#container?.element ?? renderTokens([token]));
  }

  #closeContainer(): void {
    this.#container = undefined;
    this.#prefix = '';
  }

  #appendAll(tokens: readonly Token[]): ChildNode[] {
    const nodes = [...renderTokens(tokens).childNodes];
    this.#root.append(...nodes);
    return nodes;
  }

  /** Shows what is not parsed yet at the end of the open block: it goes when the block is parsed again. */
  #showRaw(): void {
    if (!this.#raw) {
      this.#raw = document.createTextNode('');
      const open = this.#openNodes.findLast((node) => node instanceof Element);
      if (open) lastBlockOf(open).append(this.#raw);
      else this.#root.append(this.#raw);
      this.#openNodes.push(this.#raw);
    }
    const parsed = this.#tail.slice(0, this.#parsedLength);
    this.#raw.data = (/\s$/.test(parsed) ? ' ' : '') + this.#tail.slice(this.#parsedLength);
  }
}

const BLOCKS = 'blockquote, dd, div, h1, h2, h3, h4, h5, h6, li, ol, p, ul';

/** The innermost block at the end of another, without the white space that ends it. */
function lastBlockOf(element: Element): Element {
  let block = element;
  for (;;) {
    const last = block.lastChild;
    if (last instanceof Text) {
      last.data = last.data.trimEnd();
      if (last.data !== '') return block;
      last.remove();
    } else if (last instanceof Element && last.matches(BLOCKS)) block = last;
    else return block;
  }
}
