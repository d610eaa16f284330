import { css } from 'lit';

export const stepsStyles = css`
  .keys:focus-visible {
    border-radius: 0.125rem;
    outline-offset: 4px;
  }

  /* Room for the longest answer of a bar, so that what is below does not jump. */
  .detail {
    min-block-size: 6.25rem;
    margin-block-start: var(--_space-3);
    font-size: var(--_text-sm);
  }

  .detail p {
    margin: 0 0 var(--_space-2);
    white-space: normal;
  }

  .detail b + b {
    margin-inline-start: 0.5rem;
  }

  .more,
  .hint {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .more {
    margin-inline-start: 0.5rem;
  }
`;
