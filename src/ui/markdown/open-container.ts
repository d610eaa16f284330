import type { Token, Tokens } from 'marked';
import { renderTokens } from './parse.ts';

const isList = (token: Token | undefined): token is Tokens.List => token?.type === 'list';
const isTable = (token: Token | undefined): token is Tokens.Table => token?.type === 'table';

/** What is left of a list or table once its finished items or rows are taken off. */
interface Split {
  /** The same token with the finished part only. */
  finished: Token;
  /** The same token with the open last item or row only. */
  open: Token;
  /** Source characters of the token that the finished part used up. */
  consumed: number;
  /** Source that must stand before the open part for it to be read the same way (the head of a table). */
  prefix: string;
}

function splitList(token: Tokens.List): Split | undefined {
  const finished = token.items.slice(0, -1);
  const open = token.items.at(-1);
  if (open === undefined || finished.length === 0) return undefined;
  const consumed = token.raw.lastIndexOf(open.raw);
  if (consumed <= 0) return undefined;
  return {
    finished: { ...token, items: finished },
    open: { ...token, items: [open] },
    consumed,
    prefix: '',
  };
}

function splitTable(token: Tokens.Table): Split | undefined {
  const lines = token.raw.trimEnd().split('\n');
  const open = token.rows.at(-1);
  if (open === undefined || token.rows.length < 2 || lines.length !== token.rows.length + 2) return undefined;
  const prefix = `${lines.slice(0, 2).join('\n')}\n`;
  return {
    finished: { ...token, rows: token.rows.slice(0, -1) },
    open: { ...token, rows: [open] },
    consumed: lines.slice(0, -1).join('\n').length + 1,
    prefix,
  };
}

export function splitContainer(token: Token): Split | undefined {
  if (isList(token)) return splitList(token);
  if (isTable(token)) return splitTable(token);
  return undefined;
}

/**
 * A list or table whose earlier items stay as they are while the last one grows. (A list that turns out to be loose after some
 * items keeps those items tight; the style sheet spaces both alike.)
 */
export class OpenContainer {
  /** The node that stands at the top level. */
  readonly element: Element;
  readonly #type: string;
  /** The element that items or rows are appended to. */
  readonly #slot: Element;

  private constructor(type: string, element: Element, slot: Element) {
    this.#type = type;
    this.element = element;
    this.#slot = slot;
  }

  static of(token: Token): OpenContainer | undefined {
    const element = renderTokens([token]).firstElementChild;
    const slot = isTable(token) ? element?.querySelector('tbody') : element;
    return element && slot ? new OpenContainer(token.type, element, slot) : undefined;
  }

  /** True if this token, first in the rest of the source, goes on with this container. */
  continues(token: Token | undefined): token is Token {
    return token?.type === this.#type;
  }

  /** Appends the items or rows of a token that goes on; returns their nodes. */
  append(token: Token): Element[] {
    const root = renderTokens([token]);
    const slot = isTable(token) ? root.querySelector('tbody') : root.firstElementChild;
    const nodes = [...(slot?.children ?? [])];
    this.#slot.append(...nodes);
    return nodes;
  }
}
