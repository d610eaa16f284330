import { css } from 'lit';

export const overlayStyles = css`
  :host {
    display: block;
    z-index: 20;
  }

  /* Without the attribute: bottom right. A default is not reflected, as a page rendered elsewhere would not have it. */
  :host(:not([placement='inline'])) {
    position: fixed;
    inline-size: fit-content;
    max-inline-size: calc(100vw - 1.5rem);
  }

  :host([placement^='top']) {
    inset-block-start: max(0.75rem, env(safe-area-inset-top));
  }

  :host(:is([placement^='bottom'], :not([placement]))) {
    inset-block-end: max(0.75rem, env(safe-area-inset-bottom));
  }

  /* Sides of the window, as the keys and the pointer mean them, in a page of either direction. */
  :host([placement$='left']) {
    left: 0.75rem;
  }

  :host(:is([placement$='right'], :not([placement]))) {
    right: 0.75rem;
  }

  .frame {
    background: var(--_raised);
  }

  :host(:not([placement='inline'])) .frame {
    display: flex;
    flex-direction: column;
    max-block-size: calc(100dvh - 1.5rem);
    border: 1px solid var(--_line);
    border-radius: calc(var(--_radius) * 1.25);
    box-shadow:
      0 1px 2px light-dark(rgb(15 23 25 / 0.08), rgb(0 0 0 / 0.4)),
      0 8px 28px light-dark(rgb(15 23 25 / 0.12), rgb(0 0 0 / 0.5));
    overflow: hidden;
  }

  :host(:not([placement='inline'])[open]) .frame {
    inline-size: var(--tg-overlay-inline-size, 22rem);
    max-inline-size: 100%;
  }

  /* Opens upwards: the line stays where the pointer is. */
  :host(:is([placement^='bottom'], :not([placement]))) .frame {
    flex-direction: column-reverse;
  }

  .line {
    display: flex;
    align-items: baseline;
    gap: var(--_space-4);
    inline-size: 100%;
    min-block-size: 2.5rem;
    padding: 0.5rem 0.875rem;
    border: 0;
    background: none;
    font-size: var(--_text-sm);
    line-height: 1.5;
    text-align: start;
    flex: none;
  }

  :host(:not([placement='inline'])) .line {
    touch-action: none;
  }

  .line:hover {
    background: var(--_sunken);
  }

  .line:focus-visible {
    outline-offset: -2px;
    border-radius: inherit;
  }

  .line b {
    font-weight: 650;
    font-size: var(--_text-md);
  }

  .pair {
    display: inline-flex;
    align-items: baseline;
    gap: 0.4375rem;
    min-inline-size: 6em;
  }

  .title {
    font-weight: 650;
  }

  .phase {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .name {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    font-weight: 500;
    text-decoration: none;
  }

  .lamp {
    align-self: center;
    inline-size: 0.5rem;
    block-size: 0.5rem;
    flex: none;
    margin-inline-end: -0.25rem;
    border: 1.5px solid var(--_line-strong);
    border-radius: 50%;
  }

  .lamp.waiting,
  .lamp.prefill {
    border-color: var(--_accent);
  }

  .lamp.streaming {
    border-color: var(--_accent);
    background: var(--_accent);
  }

  .chevron {
    align-self: center;
    margin-inline-start: auto;
    color: var(--_ink-3);
    line-height: 0;
    font-size: 1rem;
  }

  :host([open]) .chevron {
    rotate: 180deg;
  }

  :host(:is([placement^='bottom'], :not([placement]))) .chevron {
    rotate: 180deg;
  }

  :host(:is([placement^='bottom'], :not([placement]))[open]) .chevron {
    rotate: 0deg;
  }

  .card {
    min-block-size: 0;
    overflow-y: auto;
    scrollbar-width: thin;
  }

  .card:focus-visible {
    outline-offset: -2px;
  }

  .card:not([hidden]) {
    border-block-start: 1px solid var(--_line);
  }

  :host(:is([placement^='bottom'], :not([placement]))) .card:not([hidden]) {
    border-block-start: 0;
    border-block-end: 1px solid var(--_line);
  }

  .card section {
    padding: var(--_space-4) 0.875rem;
  }

  .sections section + section {
    border-block-start: 1px solid var(--_line);
  }

  :host([placement='inline']) .card {
    container-type: inline-size;
  }

  @container (inline-size >= 36rem) {
    .sections {
      display: grid;
      grid-template-columns: 1fr 1fr;
    }

    .sections section:nth-child(even) {
      border-inline-start: 1px solid var(--_line);
    }

    .sections section:nth-child(2) {
      border-block-start: 0;
    }
  }

  h3 {
    margin: 0;
    color: var(--_ink-2);
    font-size: var(--_text-xs);
    font-weight: 600;
    line-height: 1.4;
  }

  .hero {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    justify-content: space-between;
    gap: 0 var(--_space-3);
    margin-block: 0.125rem var(--_space-3);
  }

  .big {
    font-size: var(--_text-figure);
    font-weight: 600;
    letter-spacing: -0.035em;
    line-height: 1.1;
  }

  .big.absent {
    color: var(--_ink-3);
    font-weight: 300;
  }

  .big .unit {
    margin-inline-start: 0.125em;
    font-size: var(--_text-md);
    letter-spacing: 0;
  }

  .state {
    color: var(--_ink-3);
    font-size: var(--_text-sm);
  }

  .row {
    display: grid;
    grid-template-columns: repeat(3, 1fr) auto;
    gap: var(--_space-3);
    margin: var(--_space-3) 0 0;
  }

  .row dt {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    line-height: 1.4;
  }

  .row dd {
    margin: 0;
    font-size: var(--_text-md);
    font-weight: 600;
    line-height: 1.4;
  }

  .row .unit {
    font-size: var(--_text-xs);
  }

  .count {
    margin: var(--_space-2) 0 0;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .words p,
  .engine p {
    margin: 0.375rem 0 0;
    font-size: var(--_text-sm);
    line-height: 1.5;
    text-wrap: pretty;
  }

  .engine p {
    color: var(--_ink-2);
  }

  .engine dl {
    display: grid;
    grid-template-columns: auto 1fr;
    gap: 0.25rem var(--_space-4);
    margin: var(--_space-3) 0 0;
    font-size: var(--_text-xs);
  }

  .engine dt {
    color: var(--_ink-3);
  }

  .engine dd {
    margin: 0;
    overflow-wrap: anywhere;
    font-variant-numeric: tabular-nums lining-nums;
  }
`;
