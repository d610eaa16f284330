import { css } from 'lit';

export const markdownStyles = css`
  :host {
    display: block;
  }

  .body {
    overflow-wrap: anywhere;
  }

  /* Each in its own direction: an answer may be read from the right in a page that is not. */
  .body :is(p, h3, h4, h5, h6, li, td, th) {
    unicode-bidi: plaintext;
  }

  .body > * {
    margin-block: 0 0.75em;
  }

  .body > :last-child {
    margin-block-end: 0;
  }

  h3,
  h4,
  h5,
  h6 {
    font-size: 1em;
    font-weight: 650;
    line-height: 1.35;
    letter-spacing: -0.005em;
  }

  .body > :is(h3, h4, h5, h6):not(:first-child) {
    margin-block-start: 1.25em;
  }

  h3 {
    font-size: 1.2em;
  }

  h4 {
    font-size: 1.08em;
  }

  ul,
  ol {
    padding-inline-start: 1.5em;
  }

  li {
    margin-block: 0.25em;
  }

  li::marker {
    color: var(--_ink-3);
    font-variant-numeric: tabular-nums;
  }

  li > p {
    margin-block: 0 0.25em;
  }

  li:has(> input) {
    list-style: none;
    margin-inline-start: -1.35em;
  }

  a {
    color: var(--_accent);
    text-underline-offset: 0.18em;
    text-decoration-thickness: 1px;
  }

  blockquote {
    margin-inline: 0;
    padding-inline-start: var(--_space-4);
    border-inline-start: 2px solid var(--_line-strong);
    color: var(--_ink-2);
  }

  hr {
    border: 0;
    border-block-start: 1px solid var(--_line);
    margin-block: var(--_space-5);
  }

  code {
    font-family: var(--_mono);
    font-size: 0.9em;
  }

  :not(pre) > code {
    padding: 0.1em 0.3em;
    border-radius: 0.25rem;
    background: var(--_sunken);
    box-decoration-break: clone;
  }

  figure.code {
    margin-inline: 0;
    border: 1px solid var(--_line);
    border-radius: var(--_radius);
    background: var(--_sunken);
    overflow: hidden;
  }

  figcaption {
    display: flex;
    align-items: center;
    justify-content: space-between;
    padding: 0.25rem 0.25rem 0 var(--_space-3);
    color: var(--_ink-3);
    font-family: var(--_mono);
    font-size: var(--_text-xs);
  }

  figcaption .quiet:hover {
    background: var(--_raised);
  }

  figcaption .quiet {
    font-family: var(--_font);
  }

  pre {
    margin: 0;
    padding: 0.25rem var(--_space-3) var(--_space-3);
    overflow-x: auto;
    line-height: 1.5;
    tab-size: 2;
  }

  pre:focus-visible,
  .table:focus-visible {
    outline-offset: -2px;
  }

  .table {
    overflow-x: auto;
  }

  table {
    border-collapse: collapse;
    font-size: 0.95em;
    font-variant-numeric: tabular-nums lining-nums;
  }

  th,
  td {
    padding: 0.375rem 1rem 0.375rem 0;
    border-block-end: 1px solid var(--_line);
    text-align: start;
    vertical-align: baseline;
    overflow-wrap: normal;
  }

  th {
    color: var(--_ink-2);
    font-size: 0.9em;
    font-weight: 600;
    border-block-end-color: var(--_line-strong);
  }

  [align='right'] {
    text-align: end;
  }

  [align='center'] {
    text-align: center;
  }

  :host([streaming]) .body > :is(p, h3, h4, h5, h6):last-child::after,
  :host([streaming]) .body > :is(ul, ol):last-child > li:last-child:not(:has(ul, ol))::after {
    content: '';
    display: inline-block;
    inline-size: 0.5em;
    block-size: 1em;
    margin-inline-start: 0.15em;
    vertical-align: -0.12em;
    background: var(--_accent);
    border-radius: 1px;
  }
`;
