import { css } from 'lit';

export const timelineStyles = css`
  :host {
    display: block;
    position: relative;
    block-size: 3.5rem;
  }

  svg {
    display: block;
    inline-size: 100%;
    block-size: 100%;
    border-block-end: 1px solid var(--_line);
  }

  .usual {
    fill: var(--_accent);
  }

  .slow {
    fill: var(--_poor);
  }

  .top {
    position: absolute;
    inset-block-start: 0;
    inset-inline-start: 0;
    padding-inline-end: 0.375rem;
    background: var(--_raised);
    color: var(--_ink-3);
    font-size: calc(var(--_size) * 0.6875);
    line-height: 1;
  }
`;
