import { css } from 'lit';

export const modelsStyles = css`
  :host {
    display: block;
    color: var(--_ink);
    font-family: var(--_font);
    font-size: var(--_text-md);
    container: tg-models / inline-size;
  }

  h3 {
    margin: 0;
    font-size: var(--_text-sm);
    font-weight: 600;
  }

  ul {
    margin: var(--_space-2) 0 0;
    padding: 0;
    list-style: none;
    border-block-start: 1px solid var(--_line);
  }

  .row {
    display: grid;
    grid-template: 'name acts' auto 'about acts' auto / minmax(0, 1fr) auto;
    gap: 0 var(--_space-3);
    align-items: center;
    padding-block: var(--_space-2);
    border-block-end: 1px solid var(--_line);
  }

  .name {
    grid-area: name;
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 var(--_space-2);
    overflow-wrap: anywhere;
  }

  .name b {
    font-weight: 600;
  }

  .badge {
    display: inline-flex;
    align-items: center;
    gap: 0.25rem;
    color: var(--_accent);
    font-size: var(--_text-xs);
    font-weight: 600;
  }

  .about {
    grid-area: about;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    font-variant-numeric: tabular-nums;
  }

  .acts {
    grid-area: acts;
    display: flex;
    align-items: center;
    gap: var(--_space-2);
  }

  .acts .outline {
    min-block-size: 2rem;
    padding-inline: 0.75rem;
  }

  @container tg-models (inline-size < 24rem) {
    .row {
      grid-template: 'name acts' auto 'about about' auto / minmax(0, 1fr) auto;
    }
  }

  .space,
  .cache p {
    margin: var(--_space-2) 0 0;
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    white-space: normal;
  }

  .cache {
    display: flex;
    align-items: start;
    justify-content: space-between;
    gap: var(--_space-3);
    margin-block-start: var(--_space-4);
    padding-block-start: var(--_space-3);
    border-block-start: 1px solid var(--_line);
  }

  .cache p {
    margin-block-start: 0;
  }

  .fault {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    margin: var(--_space-2) 0 0;
    color: var(--_ink-2);
    font-size: var(--_text-sm);
  }

  .fault svg {
    color: var(--_poor);
  }

  @media (pointer: coarse) {
    .acts .outline {
      min-block-size: 2.75rem;
    }
  }
`;
