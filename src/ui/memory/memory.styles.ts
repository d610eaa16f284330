import { css } from 'lit';

export const memoryStyles = css`
  :host {
    display: block;
  }

  .none {
    margin: 0;
    color: var(--_ink-3);
    font-size: var(--_text-sm);
  }

  .bar {
    display: flex;
    gap: 1px;
    block-size: 1.25rem;
    border-radius: 0.25rem;
    overflow: hidden;
  }

  .bar i {
    flex-basis: 0;
  }

  i {
    forced-color-adjust: none;
  }

  i.weights {
    background: var(--_part-prefill);
  }

  i.kv {
    background: var(--_part-sample);
  }

  i.room {
    background: repeating-linear-gradient(-45deg, var(--_line-strong) 0 1px, var(--_sunken) 1px 5px);
  }

  dl {
    display: grid;
    gap: var(--_space-2);
    margin: var(--_space-3) 0 0;
    font-size: var(--_text-sm);
  }

  dl div {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    gap: 0 var(--_space-3);
  }

  dt {
    display: flex;
    align-items: center;
    gap: 0.4375rem;
    color: var(--_ink-2);
  }

  dt i {
    inline-size: 0.625rem;
    block-size: 0.625rem;
    border-radius: 0.125rem;
    flex: none;
  }

  dd {
    margin: 0;
    font-weight: 600;
  }

  .note {
    grid-column: 1 / -1;
    padding-inline-start: 1.0625rem;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    font-weight: 400;
  }
`;
