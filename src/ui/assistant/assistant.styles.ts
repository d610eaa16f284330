import { css } from 'lit';

export const assistantStyles = css`
  :host {
    display: block;
  }

  tg-overlay[placement='inline'] {
    border-block-end: 1px solid var(--_line);
  }
`;
