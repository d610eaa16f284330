import { css } from 'lit';

export const partsBarStyles = css`
  :host {
    display: block;
  }

  .bar {
    display: flex;
    gap: 1px;
    block-size: 0.625rem;
    border-radius: 0.1875rem;
    background: var(--_sunken);
    overflow: hidden;
  }

  .bar i {
    flex-basis: 0;
    min-inline-size: 2px;
  }

  i {
    background: var(--_ink-3);
    /* The colours are the legend; a forced palette would make them all one. */
    forced-color-adjust: none;
  }

  i.queue,
  i.rest {
    background: var(--_part-queue);
  }

  i.tokenize,
  i.flop {
    background: var(--_part-tokenize);
  }

  i.cache,
  i.host {
    background: var(--_part-cache);
  }

  i.prefill,
  i.memory,
  i.compute {
    background: var(--_part-prefill);
  }

  i.sample,
  i.dispatch {
    background: var(--_part-sample);
  }

  i.delivery,
  i.readback {
    background: var(--_part-delivery);
  }

  i.slack {
    background: repeating-linear-gradient(-45deg, var(--_part-prefill) 0 2px, var(--_sunken) 2px 4px);
  }

  dl {
    display: grid;
    /* Two columns; one where large text leaves no room for two. */
    grid-template-columns: repeat(auto-fit, minmax(min(100%, max(8rem, 50% - var(--_space-5))), 1fr));
    gap: 0.125rem var(--_space-5);
    margin: var(--_space-3) 0 0;
    font-size: var(--_text-xs);
  }

  dl div {
    display: flex;
    min-inline-size: 0;
    justify-content: space-between;
    gap: var(--_space-2);
  }

  dt {
    display: flex;
    align-items: center;
    gap: 0.4375rem;
    color: var(--_ink-2);
    white-space: nowrap;
  }

  dt i {
    inline-size: 0.5rem;
    block-size: 0.5rem;
    border-radius: 0.125rem;
    flex: none;
  }

  dd {
    margin: 0;
    font-weight: 500;
  }
`;
