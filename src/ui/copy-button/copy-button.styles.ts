import { css } from 'lit';

export const copyButtonStyles = css`
  :host {
    display: inline-block;
  }
`;
