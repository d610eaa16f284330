import { css } from 'lit';

/**
 * One hue that grows darker and an underline that grows thicker: told apart without colours, by people who see none of them, and in print.
 */
export const tokenViewStyles = css`
  :host {
    display: block;
  }

  .text {
    line-height: 1.85;
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }

  .text:focus-visible {
    outline-offset: 4px;
    border-radius: 0.125rem;
  }

  span.first,
  span.usual,
  span.slower,
  span.slow,
  span.stall {
    --_tint: transparent;
    padding-block: 0.125rem;
    border-radius: 0.1875rem;
    background: var(--_tint);
    box-shadow: inset 1px 0 0 light-dark(rgb(15 23 25 / 0.12), rgb(255 255 255 / 0.14));
    text-decoration: underline 1px var(--_line-strong);
    text-underline-offset: 0.3em;
    text-decoration-skip-ink: none;
  }

  span.first {
    text-decoration-style: double;
  }

  span.slower {
    --_tint: light-dark(#fff0d4, #3a2c10);
    text-decoration: underline 2px light-dark(#b26a00, #d99a2b);
  }

  span.slow {
    --_tint: light-dark(#ffd9ad, #5a3410);
    text-decoration: underline 3px light-dark(#b34700, #f08a3c);
  }

  span.stall {
    --_tint: light-dark(#ffbf9e, #7a2f12);
    text-decoration: underline 4px light-dark(#8f2400, #ffa27d);
  }

  .text > span {
    cursor: default;
  }

  .text > span.told {
    outline: 2px solid var(--_accent);
    outline-offset: 0;
  }

  .cut {
    margin: var(--_space-2) 0 0;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
  }

  .foot {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    justify-content: space-between;
    gap: var(--_space-1) var(--_space-4);
    min-block-size: 2rem;
    margin-block-start: var(--_space-3);
    font-size: var(--_text-xs);
  }

  .detail {
    display: flex;
    flex-wrap: wrap;
    gap: 0.125rem var(--_space-3);
  }

  .hint {
    color: var(--_ink-3);
  }

  q {
    max-inline-size: 16rem;
    overflow: hidden;
    font-family: var(--_mono);
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem var(--_space-3);
    margin: 0;
    padding: 0;
    list-style: none;
    color: var(--_ink-2);
  }

  .legend span {
    padding-inline: 0.25rem;
    color: var(--_ink);
  }

  small {
    color: var(--_ink-3);
    font-size: inherit;
  }
`;
