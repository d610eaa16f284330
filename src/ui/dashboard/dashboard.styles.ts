import { css } from 'lit';

export const dashboardStyles = css`
  :host {
    display: block;
    container-type: inline-size;
    background: var(--_surface);
  }

  .dashboard {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
  }

  header {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: var(--_space-2) var(--_space-4);
    padding: var(--_space-4) var(--_space-4) 0;
  }

  h2 {
    margin: 0;
    font-size: var(--_text-lg);
    font-weight: 650;
    letter-spacing: -0.015em;
  }

  .phase {
    margin-inline-start: 0.375rem;
    color: var(--_ink-3);
    font-size: var(--_text-sm);
    font-weight: 400;
    letter-spacing: 0;
  }

  .actions {
    display: flex;
    flex-wrap: wrap;
    gap: var(--_space-2);
  }

  .outline[aria-disabled='true'],
  .solid[aria-disabled='true'] {
    border-color: var(--_line);
    background: var(--_sunken);
    color: var(--_ink-3);
    cursor: default;
  }

  .outline:disabled {
    border-color: var(--_line);
    color: var(--_ink-3);
    cursor: default;
  }

  .problem {
    margin: var(--_space-3) var(--_space-4) 0;
    padding: var(--_space-2) var(--_space-3);
    border-inline-start: 3px solid var(--_poor);
    background: var(--_raised);
    font-size: var(--_text-sm);
  }

  section {
    min-inline-size: 0;
    padding: var(--_space-5) var(--_space-4);
    border-block-end: 1px solid var(--_line);
  }

  section.tiles {
    padding-block: var(--_space-2) var(--_space-3);
  }

  section:last-of-type {
    border-block-end: 0;
  }

  .head {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: var(--_space-2) var(--_space-4);
    margin-block-end: var(--_space-3);
  }

  h3 {
    margin: 0 0 var(--_space-3);
    font-size: var(--_text-md);
    font-weight: 650;
    letter-spacing: -0.01em;
    line-height: 1.4;
  }

  .head h3 {
    margin: 0;
  }

  .choice {
    display: inline-flex;
    padding: 2px;
    border-radius: calc(var(--_radius) * 0.75);
    background: var(--_sunken);
  }

  .choice button {
    min-block-size: 1.75rem;
    padding: 0.125rem 0.75rem;
    border: 0;
    border-radius: calc(var(--_radius) * 0.75 - 2px);
    background: none;
    color: var(--_ink-2);
    font-size: var(--_text-xs);
    font-weight: 600;
  }

  .choice button[aria-pressed='true'] {
    background: var(--_raised);
    box-shadow: 0 0 0 1px var(--_line-strong);
    color: var(--_ink);
  }

  @media (forced-colors: active) {
    .choice button[aria-pressed='true'] {
      outline: 2px solid Highlight;
      outline-offset: -2px;
    }
  }

  tg-roofline {
    --tg-chart-block-size: 15rem;
  }

  .caption {
    margin: var(--_space-3) 0 0;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    line-height: 1.5;
    text-wrap: pretty;
  }

  @container (inline-size >= 44rem) {
    .dashboard {
      grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    }

    header,
    .problem,
    .wide {
      grid-column: 1 / -1;
    }

    header,
    section {
      padding-inline: var(--_space-5);
    }

    /* Sections of half the width come in pairs, after three wide ones. */
    section:not(.wide):nth-of-type(odd) {
      border-inline-start: 1px solid var(--_line);
    }
  }

  @media (pointer: coarse) {
    .choice button {
      min-block-size: 2.5rem;
    }
  }
`;
