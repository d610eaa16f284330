import { css } from 'lit';

export const loadStyles = css`
  :host {
    display: block;
  }

  .words {
    display: flex;
    justify-content: space-between;
    gap: var(--_space-3);
    margin-block-end: 0.375rem;
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  .bytes {
    color: var(--_ink-3);
  }

  .bar {
    block-size: 0.25rem;
    border-radius: 1rem;
    background: var(--_line);
    overflow: hidden;
  }

  .bar div {
    block-size: 100%;
    border-radius: inherit;
    background: var(--_accent);
    transition: inline-size 120ms linear;
  }

  .warning {
    display: flex;
    align-items: center;
    gap: var(--_space-3);
    margin-block-start: var(--_space-3);
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  .warning {
    flex-wrap: wrap;
  }

  .warning p {
    flex: 1 1 14rem;
    margin: 0;
  }

  .warning svg {
    color: var(--_fair);
  }

  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: var(--_space-2);
  }

  .bar.unknown div {
    animation: tg-sweep 1.4s ease-in-out infinite;
    inline-size: 35% !important;
  }

  @keyframes tg-sweep {
    from {
      translate: -110% 0;
    }

    to {
      translate: 310% 0;
    }
  }

  .error {
    padding: var(--_space-3) var(--_space-4) var(--_space-4);
    border: 1px solid var(--_line);
    border-inline-start: 3px solid var(--_poor);
    border-radius: var(--_radius);
    background: var(--_raised);
  }

  .error p {
    margin: 0 0 0.25rem;
  }

  .title {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    font-weight: 600;
  }

  .title svg {
    color: var(--_poor);
  }

  .sentence {
    color: var(--_ink-3);
    font-size: var(--_text-sm);
    overflow-wrap: anywhere;
  }

  .actions {
    display: flex;
    flex-wrap: wrap;
    gap: var(--_space-2);
    margin-block-start: var(--_space-3);
  }

  @media (prefers-reduced-motion: reduce) {
    .bar.unknown div {
      inline-size: 100% !important;
      opacity: 0.5;
    }
  }
`;
