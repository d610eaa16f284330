import { css } from 'lit';

export const laneStyles = css`
  :host {
    display: block;
    min-inline-size: 0;
    container-type: inline-size;
  }

  section {
    padding: var(--_space-5);
  }

  dl {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    gap: var(--_space-4);
    margin: var(--_space-4) 0 0;
  }

  @container (inline-size < 15rem) {
    dl {
      grid-template-columns: minmax(0, 1fr);
    }
  }

  dt {
    color: var(--_ink-2);
    font-size: var(--_text-lg);
    font-weight: 600;
    line-height: 1.4;
  }

  dd {
    margin: 0;
  }

  .big {
    font-size: clamp(2.25rem, 13cqi, 6rem);
    font-weight: 600;
    letter-spacing: -0.04em;
    line-height: 1.05;
  }

  .big.absent {
    color: var(--_ink-3);
    font-weight: 300;
  }

  .big .unit {
    margin-inline-start: 0.1em;
    font-size: 0.28em;
    letter-spacing: 0;
  }

  .running .big {
    color: var(--_accent);
  }

  .note {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0 var(--_space-4);
    min-block-size: 1.75rem;
    margin-block-start: var(--_space-1);
    color: var(--_ink-3);
    font-size: var(--_text-md);
  }

  /* Two lines in either lane, so that what is below stands level. */
  @container (inline-size < 32rem) {
    .note {
      min-block-size: 4.5rem;
      align-content: start;
    }
  }

  .note .feel {
    font-size: inherit;
  }

  .answer {
    --tg-text-size: calc(var(--_size) * 1.25);
    min-block-size: 9rem;
    margin-block-start: var(--_space-4);
    padding-block-start: var(--_space-4);
    border-block-start: 1px solid var(--_line);
  }

  .error {
    margin: 0;
    padding-inline-start: var(--_space-3);
    border-inline-start: 3px solid var(--_poor);
  }
`;
