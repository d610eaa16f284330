import { css } from 'lit';

export const assistantStyles = css`
  :host {
    display: block;
  }

  tg-chat {
    border-radius: inherit;
  }
`;
