import { css } from 'lit';

/** Buttons, focus rings, figures, and what is read but not seen: shared by every element. */
export const controls = css`
  button {
    font: inherit;
    color: inherit;
    cursor: pointer;
  }

  :focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 2px;
  }

  .quiet {
    display: inline-flex;
    align-items: center;
    gap: 0.375rem;
    min-block-size: 1.75rem;
    padding: 0.125rem 0.5rem;
    border: 1px solid transparent;
    border-radius: calc(var(--_radius) * 0.75);
    background: none;
    color: var(--_ink-2);
    font-size: var(--_text-xs);
    font-weight: 500;
    line-height: 1.4;
    white-space: nowrap;
  }

  .quiet:hover {
    background: var(--_sunken);
    color: var(--_ink);
  }

  .solid {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 0.375rem;
    min-block-size: 2.25rem;
    padding: 0.25rem 0.875rem;
    border: 1px solid var(--_accent);
    border-radius: calc(var(--_radius) * 0.75);
    background: var(--_accent);
    color: var(--_on-accent);
    font-size: var(--_text-sm);
    font-weight: 600;
  }

  .solid:disabled {
    border-color: var(--_line);
    background: var(--_sunken);
    color: var(--_ink-3);
    cursor: default;
  }

  .outline {
    display: inline-flex;
    align-items: center;
    gap: 0.375rem;
    min-block-size: 2.25rem;
    padding: 0.25rem 0.875rem;
    border: 1px solid var(--_line-strong);
    border-radius: calc(var(--_radius) * 0.75);
    background: var(--_raised);
    color: var(--_ink);
    font-size: var(--_text-sm);
    font-weight: 600;
  }

  .outline:hover {
    border-color: var(--_ink-2);
  }

  @media (pointer: coarse) {
    .quiet {
      min-block-size: 2.25rem;
      padding-inline: 0.625rem;
    }

    .solid,
    .outline {
      min-block-size: 2.75rem;
    }
  }

  .figure {
    font-variant-numeric: tabular-nums lining-nums;
    font-feature-settings: 'tnum', 'lnum';
    white-space: nowrap;
  }

  .unit {
    color: var(--_ink-3);
    font-weight: 400;
  }

  .sr-only {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    margin: -1px;
    padding: 0;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
    border: 0;
  }

  svg.icon {
    inline-size: 1em;
    block-size: 1em;
    flex: none;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.75;
    stroke-linecap: round;
    stroke-linejoin: round;
  }

  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation-duration: 0.01ms !important;
      animation-iteration-count: 1 !important;
      transition-duration: 0.01ms !important;
      scroll-behavior: auto !important;
    }
  }
`;
