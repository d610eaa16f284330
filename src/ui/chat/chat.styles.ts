import { css } from 'lit';

export const chatStyles = css`
  :host {
    display: flex;
    flex-direction: column;
    block-size: var(--tg-chat-block-size, 36rem);
    max-block-size: 100%;
    min-block-size: 0;
    position: relative;
    background: var(--_surface);
    container: tg-chat / inline-size;
  }

  .scroll {
    flex: 1;
    min-block-size: 0;
    overflow-y: auto;
    overscroll-behavior: contain;
    scrollbar-gutter: stable both-edges;
    scrollbar-width: thin;
    scrollbar-color: var(--_line-strong) transparent;
  }

  .scroll:focus-visible {
    outline-offset: -2px;
  }

  .content {
    display: flex;
    flex-direction: column;
    min-block-size: 100%;
    max-inline-size: 46rem;
    margin-inline: auto;
    padding: var(--_space-5) var(--_space-4);
  }

  .empty {
    margin-block: auto;
  }

  .welcome {
    margin: 0;
    color: var(--_ink-2);
  }

  .suggestions {
    display: grid;
    margin: var(--_space-5) 0 0;
    padding: 0;
    list-style: none;
    border-block-start: 1px solid var(--_line);
  }

  .suggestions li {
    border-block-end: 1px solid var(--_line);
  }

  .suggestions button {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: var(--_space-4);
    inline-size: 100%;
    min-block-size: 2.875rem;
    padding: 0.5rem 0;
    border: 0;
    background: none;
    text-align: start;
    transition: padding 160ms var(--_ease);
  }

  .suggestions svg {
    color: var(--_ink-3);
  }

  .suggestions button:hover {
    padding-inline-start: 0.5rem;
    color: var(--_accent);
  }

  .suggestions button:hover svg {
    color: inherit;
  }

  .turn + .turn {
    margin-block-start: var(--_space-6);
  }

  .question {
    unicode-bidi: plaintext; /* the direction of what was asked, not of the page */
    inline-size: fit-content;
    max-inline-size: min(100%, 36rem);
    margin-inline-start: auto;
    padding: 0.5rem 0.875rem;
    border-radius: calc(var(--_radius) * 1.5);
    border-end-end-radius: 0.125rem;
    background: var(--_accent-soft);
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }

  .answer {
    margin-block-start: var(--_space-4);
  }

  .waiting {
    margin: 0;
    color: var(--_ink-2);
    animation: tg-breathe 1.6s ease-in-out infinite;
  }

  @keyframes tg-breathe {
    50% {
      opacity: 0.7;
    }
  }

  footer {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--_space-1) var(--_space-4);
    margin-block-start: var(--_space-2);
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .actions {
    display: inline-flex;
    flex-wrap: wrap;
    justify-content: end;
    margin-inline: auto -0.5rem;
  }

  .receipt {
    display: inline-flex;
    flex-wrap: wrap;
    gap: 0 var(--_space-4);
  }

  .receipt b {
    color: var(--_ink-2);
    font-weight: 600;
  }

  ::slotted([slot='status']) {
    margin-block-end: var(--_space-3);
  }

  .cut {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: var(--_space-2) var(--_space-4);
    margin-block-start: var(--_space-3);
    padding-block-start: var(--_space-3);
    border-block-start: 1px dashed var(--_line-strong);
  }

  .cut p {
    margin: 0;
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  .choices {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--_space-2);
  }

  .error {
    margin-block-start: var(--_space-3);
    padding: var(--_space-3) var(--_space-4) var(--_space-4);
    border: 1px solid var(--_line);
    border-inline-start: 3px solid var(--_poor);
    border-radius: var(--_radius);
    background: var(--_raised);
  }

  .error p {
    margin: 0 0 0.25rem;
  }

  .error .title {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    font-weight: 600;
  }

  .error .title svg {
    color: var(--_poor);
  }

  .error .sentence {
    margin-block-end: var(--_space-3);
    color: var(--_ink-3);
    font-size: var(--_text-sm);
    overflow-wrap: anywhere;
  }

  /* Keeps the gutter of the scroller above, so that field and text stand in one column. */
  .foot {
    flex: none;
    overflow: hidden;
    scrollbar-gutter: stable both-edges;
    scrollbar-width: thin;
  }

  .column {
    max-inline-size: 46rem;
    margin-inline: auto;
    padding: var(--_space-2) var(--_space-4) var(--_space-3);
  }

  .over {
    position: relative;
  }

  .under {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: var(--_space-3);
    min-block-size: 1.75rem;
    margin-block-start: var(--_space-1);
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .under .actions {
    flex: none;
    margin-inline: auto -0.5rem;
  }

  /* The icons stay; the words are still read out. */
  @container tg-chat (inline-size < 26rem) {
    .under .name {
      position: absolute;
      inline-size: 1px;
      block-size: 1px;
      overflow: hidden;
      clip-path: inset(50%);
    }
  }

  .quiet[aria-pressed='true'] {
    background: var(--_accent-soft);
    color: var(--_ink);
  }

  .jump {
    position: absolute;
    inset-block-end: 0.25rem;
    inset-inline-start: 50%;
    translate: -50% 0;
    min-block-size: 2rem;
    border-radius: 999px;
    font-size: var(--_text-xs);
    box-shadow: 0 2px 10px light-dark(rgb(15 23 25 / 0.12), rgb(0 0 0 / 0.5));
  }
`;
