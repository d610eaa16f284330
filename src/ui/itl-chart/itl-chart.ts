import { html, LitElement, type PropertyValues } from 'lit';
import type uPlot from 'uplot';
import { percentileOfSorted, sortedSamples } from '../../runtime/metrics/percentile.ts';
import { axis, axisDigits, plainAxis } from '../chart/axes.ts';
import { chartStyles } from '../chart/chart.styles.ts';
import type { ChartTheme } from '../chart/chart-theme.ts';
import { PlotController, type PlotLibrary, type PlotOptions } from '../chart/plot-controller.ts';
import { renderChart } from '../chart/render-chart.ts';
import { formatCount, formatDuration, formatMs } from '../internal/format.ts';
import { renderFigure } from '../internal/render-figure.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { histogram, type Histogram } from './histogram.ts';
import { itlChartStyles } from './itl-chart.styles.ts';

const PERCENTILES = [50, 95, 99] as const;

/**
 * How gaps between tokens are distributed, with p50, p95, p99 and the n they are of.
 *
 * @summary Histogram of ITL
 * @csspart plot - The drawing
 * @cssproperty --tg-chart-block-size - Height of the plot (default 11rem)
 */
export class TgItlChart extends LitElement {
  static override styles = [tokens, controls, chartStyles, itlChartStyles];
  static override properties = { gapsMs: { attribute: false }, of: { type: String } };

  /** Raw samples in any order. @default [] */
  declare gapsMs: readonly number[];
  /** What the samples are of, in words, for the caption: "of 3 answers". @default '' */
  declare of: string;

  #sorted: Float64Array = new Float64Array();
  #bins: Histogram = histogram([]);
  readonly #plot = new PlotController(this, {
    options: (theme, library) => this.#options(theme, library),
    data: () => this.#data(),
  });

  constructor() {
    super();
    this.gapsMs = [];
    this.of = '';
  }

  /** How often the canvas was drawn. */
  get draws(): number {
    return this.#plot.draws;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('gapsMs')) return;
    this.#sorted = sortedSamples(this.gapsMs);
    this.#bins = histogram(this.#sorted);
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('gapsMs')) this.#plot.draw();
  }

  #data(): uPlot.AlignedData | undefined {
    const { fromMs, counts, widthMs } = this.#bins;
    return counts.length === 0 ? undefined : [fromMs.map((from) => from + widthMs / 2), counts];
  }

  #options(theme: ChartTheme, library: PlotLibrary): PlotOptions {
    const bars = library.paths.bars?.({ size: [0.92, 40], align: 0 });
    return {
      padding: [18, 4, 0, 0],
      scales: {
        x: { time: false, range: () => [0, (this.#bins.fromMs.at(-1) ?? 0) + this.#bins.widthMs || 1] },
        y: { range: (_, __, max) => [0, Math.max(1, max)] },
      },
      axes: [
        plainAxis(theme),
        axis(theme, {
          size: 34,
          space: 32,
          values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? axisDigits(at) : '')),
        }),
      ],
      series: [
        {},
        {
          fill: theme.colour('part-prefill'),
          width: 0,
          ...(bars && { paths: bars }),
          points: { show: false },
        },
      ],
      hooks: { draw: [(plot) => this.#drawPercentiles(plot, theme)] },
    };
  }

  /** Lines at the percentiles, their names above; names that would overlap share a place. */
  #drawPercentiles(plot: uPlot, theme: ChartTheme): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = theme.font.replace('11px', `${11 * ratio}px`);
    ctx.textBaseline = 'bottom';
    ctx.strokeStyle = ctx.fillStyle = theme.colour('ink');
    ctx.lineWidth = ratio;
    let freeFrom = -Infinity;
    for (const [rank, p] of PERCENTILES.entries()) {
      const ms = percentileOfSorted(this.#sorted, p);
      if (ms === undefined) continue;
      const x = Math.min(Math.round(plot.valToPos(ms, 'x', true)), bbox.left + bbox.width);
      ctx.setLineDash(rank === 0 ? [] : rank === 1 ? [4 * ratio, 3 * ratio] : [ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x + 0.5, bbox.top - 2 * ratio);
      ctx.lineTo(x + 0.5, bbox.top + bbox.height);
      ctx.stroke();
      const name = `p${p}`;
      const width = ctx.measureText(name).width;
      const left = Math.max(Math.min(x - width / 2, bbox.left + bbox.width - width), freeFrom);
      ctx.fillText(name, left, bbox.top - 3 * ratio);
      freeFrom = left + width + 6 * ratio;
    }
    ctx.restore();
  }

  #summary(): string {
    const words = PERCENTILES.map((p) => `p${p} ${formatMs(percentileOfSorted(this.#sorted, p)).spoken}`);
    return `Distribution of gaps between tokens: ${words.join(', ')}, of ${this.#sorted.length} gaps`;
  }

  protected override render() {
    const n = this.#sorted.length;
    const { beyond, fromMs } = this.#bins;
    const tail =
      beyond > 0
        ? ` The last bar has ${formatCount(beyond)} longer ${beyond === 1 ? 'gap' : 'gaps'} as well, up to ${formatDuration(this.#sorted.at(-1))}.`
        : '';
    return html`
      <dl class="percentiles">
        ${PERCENTILES.map((p) => renderPair(`p${p}`, formatMs(percentileOfSorted(this.#sorted, p))))}
        ${renderPair('max', formatMs(this.#sorted.at(-1)))}
        <div>
          <dt>n</dt>
          <dd class="figure"><b>${formatCount(n)}</b></dd>
        </div>
      </dl>
      ${renderChart({
        summary: this.#summary(),
        none: n === 0 ? 'The distribution appears with the second token.' : undefined,
        xName: 'ms between tokens',
        yName: 'gaps',
        caption: n === 0 ? undefined : `n = ${formatCount(n)} gaps${this.of === '' ? '' : ` ${this.of}`}.${tail}`,
        table: {
          head: ['From, ms', 'To, ms', 'Gaps'],
          rows: () =>
            fromMs.map((from, bin) => [
              axisDigits(from),
              axisDigits(from + this.#bins.widthMs),
              formatCount(this.#bins.counts[bin]),
            ]),
        },
      })}
    `;
  }
}

const renderPair = (name: string, figure: ReturnType<typeof formatMs>) => html`
  <div>
    <dt>${name}</dt>
    <dd>${renderFigure(figure)}</dd>
  </div>
`;

declare global {
  interface HTMLElementTagNameMap {
    'tg-itl-chart': TgItlChart;
  }
}

if (!customElements.get('tg-itl-chart')) customElements.define('tg-itl-chart', TgItlChart);
