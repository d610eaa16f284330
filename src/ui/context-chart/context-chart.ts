import { html, LitElement, type PropertyValues } from 'lit';
import type uPlot from 'uplot';
import { axis, plainAxis } from '../chart/axes.ts';
import { chartStyles } from '../chart/chart.styles.ts';
import type { ChartTheme } from '../chart/chart-theme.ts';
import { PlotController, type PlotOptions } from '../chart/plot-controller.ts';
import { renderChart } from '../chart/render-chart.ts';
import { formatCount, formatMs, formatMsDigits } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { contextColumns, type ContextColumns, type ContextSample } from './context-samples.ts';

/** Least time of a decode step at a context length: weights and KV over the bandwidth. */
export interface ContextFloor {
  weightBytes: number;
  kvBytesPerToken: number;
  bytesPerSecond: number;
}

/**
 * What a longer context costs: each decode step by the tokens it attends to, the median, and the floor that the device's memory sets.
 *
 * @summary Context length against ms/token
 * @csspart plot - The drawing
 * @cssproperty --tg-chart-block-size - Height of the plot (default 11rem)
 */
export class TgContextChart extends LitElement {
  static override styles = [tokens, controls, chartStyles];
  static override properties = { samples: { attribute: false }, floor: { attribute: false } };

  /** Decode steps in any order. @default [] */
  declare samples: readonly ContextSample[];
  /** Absent where the device was not measured: no floor is drawn. */
  declare floor: ContextFloor | undefined;

  #columns: ContextColumns = contextColumns([]);
  readonly #plot = new PlotController(this, { options: (theme) => this.#options(theme), data: () => this.#data() });

  constructor() {
    super();
    this.samples = [];
  }

  /** How often the canvas was drawn. */
  get draws(): number {
    return this.#plot.draws;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('samples')) this.#columns = contextColumns(this.samples);
  }

  protected override updated(): void {
    this.#plot.draw();
  }

  #data(): uPlot.AlignedData | undefined {
    const { contextTokens, ms, medianMs } = this.#columns;
    if (contextTokens.length === 0) return undefined;
    return [contextTokens, ms, medianMs, contextTokens.map((at) => this.#floorMs(at) ?? null)];
  }

  #floorMs(contextTokens: number): number | undefined {
    if (!this.floor || this.floor.bytesPerSecond <= 0) return undefined;
    const { weightBytes, kvBytesPerToken, bytesPerSecond } = this.floor;
    return ((weightBytes + contextTokens * kvBytesPerToken) / bytesPerSecond) * 1000;
  }

  #options(theme: ChartTheme): PlotOptions {
    const point = theme.colour('part-delivery');
    return {
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: false, range: (_, min, max) => [Math.max(0, min - 4), max + 4] },
        // One stall must not press the rest to the floor: what is above is drawn at the upper edge.
        y: { range: () => [0, this.#top()] },
      },
      axes: [plainAxis(theme), axis(theme, { size: 38, space: 32 })],
      series: [
        {},
        {
          stroke: point,
          width: 0,
          points: { show: true, size: 4, width: 0, fill: point, space: 0 },
          paths: () => null,
        },
        { stroke: theme.colour('part-prefill'), width: 2, spanGaps: true, points: { show: false } },
        { stroke: theme.colour('ink-2'), width: 1.5, dash: [4, 3], points: { show: false } },
      ],
    };
  }

  #top(): number {
    const sorted = [...this.#columns.ms].sort((a, b) => a - b);
    const { length } = sorted;
    const nearlyAll = sorted[length < 50 ? length - 1 : Math.floor(0.98 * (length - 1))] ?? 1;
    return Math.max(nearlyAll * 1.2, 1e-3);
  }

  #summary(): string {
    const { contextTokens, medianMs } = this.#columns;
    const medians = medianMs.flatMap((ms, at) => (ms === null ? [] : [[contextTokens[at] ?? 0, ms] as const]));
    const [first] = medians;
    const last = medians.at(-1);
    if (!first || !last) return 'Context length against time of a token: nothing measured yet';
    return `Time of a token: ${formatMs(first[1]).spoken} at a context of ${first[0]} tokens, ${formatMs(last[1]).spoken} at ${last[0]}`;
  }

  #above(): number {
    const top = this.#top();
    return this.#columns.ms.filter((ms) => ms > top).length;
  }

  protected override render() {
    const n = this.samples.length;
    const above = n === 0 ? 0 : this.#above();
    return renderChart({
      summary: this.#summary(),
      none: n === 0 ? 'Each token of an answer makes a point here.' : undefined,
      xName: 'tokens in the context',
      yName: 'ms/token',
      legend: html`<ul class="legend" aria-hidden="true" ?hidden=${n === 0}>
        <li><i style="color: var(--_part-delivery); border-radius: 50%"></i>Step</li>
        <li><i style="color: var(--_part-prefill); inline-size: 1rem; block-size: 2px"></i>Median</li>
        ${this.floor ? html`<li><i style="color: var(--_ink-2); inline-size: 1rem; block-size: 2px"></i>Floor by memory</li>` : ''}
      </ul>`,
      caption:
        n === 0
          ? undefined
          : `n = ${formatCount(n)} decode steps${above > 0 ? `; ${formatCount(above)} of them slower than the upper edge` : ''}.`,
      table: {
        head: ['Context, tokens', 'Median, ms', 'Floor, ms'],
        rows: () =>
          this.#columns.medianMs.flatMap((ms, at) => {
            const context = this.#columns.contextTokens[at] ?? 0;
            return ms === null
              ? []
              : [[formatCount(context), formatMsDigits(ms), formatMsDigits(this.#floorMs(context))]];
          }),
      },
    });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-context-chart': TgContextChart;
  }
}

if (!customElements.get('tg-context-chart')) customElements.define('tg-context-chart', TgContextChart);
