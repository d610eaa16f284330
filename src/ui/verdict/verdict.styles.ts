import { css } from 'lit';

export const verdictStyles = css`
  :host {
    display: block;
  }

  p {
    margin: 0;
    text-wrap: pretty;
  }

  .none {
    color: var(--_ink-3);
    font-size: var(--_text-sm);
  }

  .plain {
    font-size: var(--_text-lg);
    font-weight: 500;
    letter-spacing: -0.01em;
    line-height: 1.4;
  }

  .finding,
  .advice {
    margin-block-start: var(--_space-2);
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  .advice b {
    margin-inline-end: 0.25rem;
    color: var(--_ink);
    font-weight: 600;
  }

  tg-parts-bar {
    margin-block-start: var(--_space-4);
  }

  .count {
    margin-block-start: var(--_space-2);
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  details {
    margin-block-start: var(--_space-2);
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  summary {
    inline-size: fit-content;
    cursor: pointer;
    color: var(--_ink-2);
    font-weight: 500;
  }

  ul {
    margin: 0.25rem 0 0;
    padding-inline-start: 1.125rem;
  }
`;
