import { css } from 'lit';

/** How a latency feels: a word, a shape and a colour. Goes with `renderFeel`. */
export const feelStyles = css`
  .feel {
    display: inline-flex;
    align-items: center;
    gap: 0.4375rem;
    font-size: var(--_text-sm);
    font-weight: 500;
  }

  .feel i {
    inline-size: 0.625rem;
    block-size: 0.625rem;
    flex: none;
    background: currentColor;
    border-radius: 50%;
    forced-color-adjust: none;
  }

  .feel.instant,
  .feel.fluent {
    color: var(--_good);
  }

  .feel.noticeable {
    color: var(--_fair);
  }

  .feel.noticeable i {
    border-radius: 1px;
    rotate: 45deg;
    scale: 0.85;
  }

  .feel.slow {
    color: var(--_poor);
  }

  .feel.slow i {
    border-radius: 0;
    clip-path: polygon(50% 0, 100% 100%, 0 100%);
  }
`;
