import { html, nothing, type TemplateResult } from 'lit';
import type { DataTable } from '../data-table/data-table.ts';
import '../data-table/data-table.ts';

export interface ChartView {
  /** Says in words what the chart shows, figures included. */
  summary: string;
  /** Shown in place of a chart that has nothing to draw. */
  none?: string | undefined;
  xName: string;
  yName: string;
  legend?: TemplateResult | typeof nothing;
  caption?: unknown;
  /** The same figures for those who cannot see the drawing. */
  table?: DataTable | undefined;
}

/** The frame of a chart for a `PlotController`. The plot stays in the page while there is nothing to draw, so that nothing jumps. */
export const renderChart = (view: ChartView) => html`
  <figure>
    ${view.legend ?? nothing}
    <div class="axis-name" aria-hidden="true">${view.none === undefined ? view.yName : nothing}&nbsp;</div>
    <div class="stage">
      <div class="plot" part="plot" role="img" aria-label=${view.none ?? view.summary}></div>
      ${view.none === undefined ? nothing : html`<p class="none" aria-hidden="true">${view.none}</p>`}
      <span class="theme-probe" aria-hidden="true"></span>
      <span class="theme-watch" aria-hidden="true"></span>
    </div>
    <div class="axis-name x" aria-hidden="true">${view.none === undefined ? view.xName : nothing}&nbsp;</div>
    ${view.caption === undefined ? nothing : html`<figcaption>${view.caption}</figcaption>`}
    ${view.table === undefined || view.none !== undefined ? nothing : html`<tg-data-table .table=${view.table}></tg-data-table>`}
  </figure>
`;
