import { Lexer, Marked, type Token, type Tokens, type TokensList } from 'marked';
import { sanitizeToFragment } from './sanitize.ts';
import { dressBlocks } from './dress-blocks.ts';

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const LINE_BREAK = /^<br\s*\/?>$/i;

/** Model headings start two levels down: the page owns h1 and h2. */
const headingLevel = (depth: number) => Math.min(depth + 2, 6);

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    // HTML that a model writes is shown, not obeyed; a line break inside a table cell is the one useful exception.
    html: ({ text, block }: Tokens.HTML | Tokens.Tag) => {
      if (LINE_BREAK.test(text.trim())) return '<br>';
      return block ? `<p>${escapeHtml(text)}</p>` : escapeHtml(text);
    },
    // Nothing is loaded on the word of a model: an image becomes a link to it, which the reader may follow.
    image: ({ href, text }: Tokens.Image) =>
      `<a href="${escapeHtml(href)}">${escapeHtml(text === '' ? href : text)} (image)</a>`,
    heading({ depth, tokens }: Tokens.Heading) {
      const level = headingLevel(depth);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
    },
    // The title carries the language through the sanitiser; `dressBlocks` takes it off again.
    code: ({ text, lang }: Tokens.Code) =>
      `<pre title="${escapeHtml(lang?.trim().split(/\s/)[0] ?? '')}"><code>${escapeHtml(text)}\n</code></pre>\n`,
  },
});

/** Definitions of reference links, by label. */
export type LinkDefinitions = TokensList['links'];

/** Top-level Markdown tokens; `links` gives definitions seen earlier and takes up new ones. */
export function lexBlocks(source: string, links: LinkDefinitions): Token[] {
  const lexer = new Lexer(marked.defaults);
  Object.assign(lexer.tokens.links, links);
  const tokens = lexer.lex(source);
  Object.assign(links, tokens.links);
  return [...tokens];
}

/** Tokens as safe nodes, with code and tables dressed for reading. */
export function renderTokens(tokens: readonly Token[]): DocumentFragment {
  const fragment = sanitizeToFragment(marked.parser([...tokens]));
  dressBlocks(fragment);
  return fragment;
}
