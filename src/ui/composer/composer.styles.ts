import { css } from 'lit';

export const composerStyles = css`
  :host {
    display: block;
  }

  .field {
    display: flex;
    align-items: flex-end;
    gap: var(--_space-2);
    padding: 0.375rem;
    border: 1px solid var(--_line-strong);
    border-radius: calc(var(--_radius) * 1.5);
    background: var(--_raised);
  }

  .field:focus-within {
    border-color: var(--_accent);
    box-shadow: 0 0 0 1px var(--_accent);
  }

  textarea {
    unicode-bidi: plaintext;
    flex: 1;
    min-inline-size: 0;
    min-block-size: 2.25rem;
    max-block-size: 12rem;
    field-sizing: content;
    padding: 0.375rem 0.5rem;
    border: 0;
    outline: none;
    resize: none;
    background: none;
    color: var(--_ink);
    font: inherit;
    /* Below 16 px, iOS zooms into the field. */
    font-size: max(1rem, var(--_text-md));
    line-height: 1.5;
  }

  textarea::placeholder {
    color: var(--_ink-3);
    opacity: 1;
  }

  .send {
    display: grid;
    place-items: center;
    inline-size: 2.25rem;
    block-size: 2.25rem;
    flex: none;
    border: 0;
    border-radius: var(--_radius);
    background: var(--_accent);
    color: var(--_on-accent);
    font-size: 1.125rem;
  }

  .send:disabled {
    background: var(--_sunken);
    color: var(--_ink-3);
    cursor: default;
  }

  :host([busy]) .send {
    background: var(--_ink);
    color: var(--_surface);
  }

  @media (pointer: coarse) {
    .send {
      inline-size: 2.75rem;
      block-size: 2.75rem;
    }

    textarea {
      min-block-size: 2.75rem;
      padding-block: 0.625rem;
    }
  }
`;
