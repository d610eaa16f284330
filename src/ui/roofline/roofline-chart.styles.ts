import { css } from 'lit';

export const rooflineStyles = css`
  .legend i.decode {
    inline-size: 0.625rem;
    block-size: 0.625rem;
    border-radius: 50%;
  }

  .legend i.prefill {
    inline-size: 0.5625rem;
    block-size: 0.5625rem;
    border-radius: 0;
    rotate: 45deg;
  }

  .legend i.roof {
    inline-size: 1rem;
    block-size: 2px;
    border-radius: 0;
    color: var(--_ink-2);
  }
`;
