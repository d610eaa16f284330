import { css } from 'lit';

export const itlChartStyles = css`
  .percentiles {
    display: flex;
    flex-wrap: wrap;
    gap: var(--_space-1) var(--_space-5);
    margin: 0 0 var(--_space-2);
  }

  dt {
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    line-height: 1.4;
  }

  dd {
    margin: 0;
    font-size: var(--_text-md);
    line-height: 1.4;
  }

  dd b {
    font-weight: 600;
  }

  dd .unit {
    font-size: var(--_text-xs);
  }
`;
