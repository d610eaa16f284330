import { css } from 'lit';

export const whatIfStyles = css`
  :host {
    display: block;
    container-type: inline-size;
  }

  .halves {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: var(--_space-6) var(--_space-7);
  }

  @container (inline-size >= 44rem) {
    .halves {
      grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    }
  }

  .half {
    min-inline-size: 0;
  }

  h4 {
    margin: 0 0 var(--_space-3);
    color: var(--_ink-2);
    font-size: var(--_text-sm);
    font-weight: 600;
  }

  .sliders {
    display: grid;
    gap: var(--_space-1);
  }

  .sliders label {
    display: grid;
    grid-template-columns: 7.5rem minmax(0, 1fr) 6rem;
    align-items: center;
    gap: var(--_space-3);
    min-block-size: 2rem;
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  input[type='range'] {
    inline-size: 100%;
    margin: 0;
    accent-color: var(--_accent);
    cursor: pointer;
  }

  output {
    color: var(--_ink);
    font-weight: 600;
    text-align: end;
  }

  .quiet {
    margin-inline-start: -0.5rem;
  }

  .fields {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    gap: var(--_space-2) var(--_space-3);
  }

  .field {
    display: grid;
    gap: 0.125rem;
    min-inline-size: 0;
    color: var(--_ink-2);
    font-size: var(--_text-xs);
  }

  select,
  input[type='number'] {
    inline-size: 100%;
    min-inline-size: 0;
    block-size: 2.25rem;
    padding-inline: 0.5rem;
    border: 1px solid var(--_line-strong);
    border-radius: calc(var(--_radius) * 0.75);
    background: var(--_raised);
    color: var(--_ink);
    font: inherit;
    font-size: var(--_text-sm);
    text-overflow: ellipsis;
  }

  input[aria-invalid='true'] {
    border-color: var(--_poor);
    border-width: 2px;
  }

  .result {
    margin-block-start: var(--_space-4);
    padding-block-start: var(--_space-3);
    border-block-start: 1px solid var(--_line);
  }

  p {
    margin: 0;
  }

  .hero b {
    font-size: calc(var(--_size) * 2);
    font-weight: 600;
    letter-spacing: -0.03em;
    line-height: 1.2;
  }

  .name,
  .note {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .name {
    margin-inline-start: 0.375rem;
    font-size: var(--_text-sm);
  }

  .note {
    margin-block-start: var(--_space-2);
    line-height: 1.5;
    text-wrap: pretty;
  }

  .formula {
    margin-block: var(--_space-1) var(--_space-3);
    color: var(--_ink-2);
    font-family: var(--_mono);
    font-size: var(--_text-xs);
    line-height: 1.7;
    overflow-wrap: anywhere;
  }

  .formula b {
    color: var(--_ink);
    font-weight: 600;
  }

  dl {
    display: grid;
    gap: 0.25rem;
    margin: var(--_space-2) 0 0;
    font-size: var(--_text-sm);
  }

  dl div {
    display: flex;
    justify-content: space-between;
    gap: var(--_space-3);
  }

  dt {
    color: var(--_ink-2);
  }

  dd {
    margin: 0;
    font-weight: 600;
  }

  .unfit {
    margin-block-start: var(--_space-2);
    padding-inline-start: var(--_space-3);
    border-inline-start: 3px solid var(--_poor);
    font-size: var(--_text-sm);
  }

  @container (inline-size < 17rem) {
    .sliders label,
    .fields {
      grid-template-columns: minmax(0, 1fr);
      gap: var(--_space-1);
    }

    output {
      grid-row: 2;
      text-align: start;
    }

    dl div {
      flex-wrap: wrap;
    }
  }

  @media (pointer: coarse) {
    .sliders label {
      min-block-size: 2.75rem;
    }
  }
`;
