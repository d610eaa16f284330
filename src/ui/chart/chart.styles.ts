import { css } from 'lit';

/** Around a chart: its name, legend, plot, and the figures as a table. What uPlot needs of its own style sheet is here as well. */
export const chartStyles = css`
  :host {
    display: block;
    min-inline-size: 0;
  }

  figure {
    position: relative;
    margin: 0;
  }

  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 0.125rem var(--_space-4);
    margin: 0 0 var(--_space-2);
    padding: 0;
    list-style: none;
    color: var(--_ink-2);
    font-size: var(--_text-xs);
  }

  .legend li {
    display: inline-flex;
    align-items: center;
    gap: 0.375rem;
    white-space: nowrap;
  }

  .legend i {
    inline-size: 0.5rem;
    block-size: 0.5rem;
    flex: none;
    border-radius: 0.125rem;
    background: currentColor;
    forced-color-adjust: none;
  }

  .stage {
    position: relative;
  }

  .plot {
    block-size: var(--tg-chart-block-size, 11rem);
    border-radius: 0.125rem;
    overflow: hidden;
  }

  .axis-name {
    color: var(--_ink-3);
    font-size: calc(var(--_size) * 0.6875);
    line-height: 1.3;
  }

  .axis-name.x {
    text-align: end;
  }

  .none {
    position: absolute;
    inset: 0;
    display: grid;
    place-items: center;
    margin: 0;
    padding: var(--_space-4);
    border: 1px dashed var(--_line);
    border-radius: var(--_radius);
    color: var(--_ink-3);
    font-size: var(--_text-sm);
    text-align: center;
    text-wrap: balance;
  }

  figcaption,
  .caption {
    margin-block-start: var(--_space-2);
    color: var(--_ink-3);
    font-size: var(--_text-xs);
    line-height: 1.5;
    text-wrap: pretty;
  }

  .theme-probe,
  .theme-watch {
    position: absolute;
    inline-size: 0;
    block-size: 0;
    overflow: hidden;
    pointer-events: none;
  }

  .theme-watch {
    color: var(--_ink);
    background: var(--_accent);
    transition:
      color 1ms,
      background-color 1ms;
  }

  tg-data-table {
    margin-block-start: var(--_space-2);
  }

  .uplot {
    inline-size: 100%;
  }

  .u-wrap {
    position: relative;
    user-select: none;
  }

  .u-over,
  .u-under,
  .u-axis,
  .u-select {
    position: absolute;
  }

  .u-under {
    overflow: hidden;
  }

  .uplot canvas {
    display: block;
    position: relative;
    inline-size: 100%;
    block-size: 100%;
  }

  .u-select {
    pointer-events: none;
  }

  .u-cursor-x,
  .u-cursor-y {
    position: absolute;
    inset-inline-start: 0;
    inset-block-start: 0;
    block-size: 100%;
    border-inline-end: 1px solid var(--_ink-3);
    pointer-events: none;
    will-change: transform;
  }

  .u-off {
    display: none;
  }
`;
