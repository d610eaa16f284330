import { css } from 'lit';

export const statsStyles = css`
  :host {
    display: block;
    container-type: inline-size;
  }

  dl {
    display: grid;
    grid-template-columns: repeat(2, minmax(0, 1fr));
    gap: 1px;
    margin: 0;
    overflow: hidden;
  }

  /* Hairlines between tiles, none around them: each draws its own to the end and below, half of them cut off. */
  .tile {
    display: flex;
    flex-direction: column;
    padding: var(--_space-3) var(--_space-4) var(--_space-3) 0;
    box-shadow: 0 1px 0 var(--_line);
  }

  .tile:nth-child(even) {
    padding-inline: var(--_space-4) 0;
    border-inline-start: 1px solid var(--_line);
  }

  .tile:nth-last-child(-n + 2) {
    box-shadow: none;
  }

  dt {
    color: var(--_ink-2);
    font-size: var(--_text-xs);
    font-weight: 600;
    line-height: 1.4;
  }

  dd {
    margin: 0;
  }

  .big {
    font-size: calc(var(--_size) * 1.75);
    font-weight: 600;
    letter-spacing: -0.03em;
    line-height: 1.25;
  }

  .lead .big {
    font-size: calc(var(--_size) * 2.5);
    line-height: 1.15;
  }

  .big.absent {
    color: var(--_ink-3);
    font-weight: 300;
  }

  .big .unit {
    margin-inline-start: 0.125em;
    font-size: var(--_text-sm);
    letter-spacing: 0;
  }

  .note,
  .note .feel {
    font-size: var(--_text-xs);
    line-height: 1.5;
  }

  .note .feel {
    margin-inline-end: 0.5rem;
  }

  .note {
    margin-block-start: auto;
    color: var(--_ink-3);
  }

  /* Text of twice the size on a phone: figures keep their digits. */
  @container (inline-size < 17rem) {
    dl {
      grid-template-columns: minmax(0, 1fr);
    }

    .tile:nth-child(n) {
      padding-inline: 0;
      border-inline-start: 0;
    }

    .tile:not(:last-child) {
      box-shadow: 0 1px 0 var(--_line);
    }
  }

  @container (inline-size >= 40rem) {
    dl {
      grid-template-columns: repeat(12, minmax(0, 1fr));
    }

    .tile.lead {
      grid-column: span 6;
    }

    .tile {
      grid-column: span 3;
    }

    .tile:not(.lead) {
      padding-inline: var(--_space-4) var(--_space-3);
      border-inline-start: 1px solid var(--_line);
      box-shadow: none;
    }

    .tile:nth-child(3) {
      padding-inline-start: 0;
      border-inline-start: 0;
    }
  }
`;
