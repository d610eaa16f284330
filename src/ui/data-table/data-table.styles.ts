import { css } from 'lit';

export const dataTableStyles = css`
  :host {
    display: block;
    font-size: var(--_text-xs);
  }

  summary {
    inline-size: fit-content;
    padding-block: 0.125rem;
    color: var(--_ink-2);
    cursor: pointer;
    font-weight: 500;
  }

  summary:hover {
    color: var(--_ink);
  }

  .scroll {
    max-block-size: 14rem;
    margin-block-start: var(--_space-1);
    overflow: auto;
    scrollbar-width: thin;
  }

  table {
    inline-size: 100%;
    border-collapse: collapse;
    font-variant-numeric: tabular-nums lining-nums;
  }

  th,
  td {
    padding: 0.25rem 0 0.25rem 0.75rem;
    border-block-end: 1px solid var(--_line);
    text-align: end;
    white-space: nowrap;
  }

  th {
    position: sticky;
    inset-block-start: 0;
    background: var(--_surface);
    color: var(--_ink-3);
    font-weight: 500;
  }

  th:first-child,
  td:first-child {
    padding-inline-start: 0;
    text-align: start;
  }
`;
