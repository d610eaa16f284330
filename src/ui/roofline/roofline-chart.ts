import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type uPlot from 'uplot';
import type { RooflinePeaks } from '../../runtime/metrics/roofline.ts';
import { axis, axisMagnitude } from '../chart/axes.ts';
import { chartStyles } from '../chart/chart.styles.ts';
import type { ChartTheme } from '../chart/chart-theme.ts';
import { PlotController, type PlotOptions } from '../chart/plot-controller.ts';
import { renderChart } from '../chart/render-chart.ts';
import { ABSENT, formatShare, formatSignificant } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { rooflineStyles } from './roofline-chart.styles.ts';
import { rooflineView, type RooflinePoint, type RooflineView } from './roofline-range.ts';

/** A const enum of the declarations, whose value is not there when modules are compiled one by one. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- there is no other way to name it
const LOGARITHMIC = 3 as uPlot.Scale.Distr.Logarithmic;
const NAMES = { decode: 'Decode', prefill: 'Prefill' } as const;
const COLOURS = { decode: 'part-prefill', prefill: 'part-sample' } as const;

/**
 * What this device can do at best (the roof), and where decode and prefill are under it. Under the slope a step waits for memory, under
 * the flat part for arithmetic; the distance to the roof is what better kernels or fewer waits could give.
 *
 * @summary Roofline, both axes logarithmic
 * @csspart plot - The drawing
 * @cssproperty --tg-chart-block-size - Height of the plot (default 11rem)
 */
export class TgRoofline extends LitElement {
  static override styles = [tokens, controls, chartStyles, rooflineStyles];
  static override properties = { points: { attribute: false }, peaks: { attribute: false } };

  /** At most one of each kind. @default [] */
  declare points: readonly RooflinePoint[];
  /** As measured on this device. @default {} */
  declare peaks: RooflinePeaks;

  #view: RooflineView | undefined;
  readonly #plot = new PlotController(this, { options: (theme) => this.#options(theme), data: () => this.#data() });

  constructor() {
    super();
    this.points = [];
    this.peaks = {};
  }

  /** How often the canvas was drawn. */
  get draws(): number {
    return this.#plot.draws;
  }

  protected override willUpdate(): void {
    this.#view = rooflineView(this.points, this.peaks);
  }

  protected override updated(_changed: PropertyValues<this>): void {
    this.#plot.draw();
  }

  #data(): uPlot.AlignedData | undefined {
    return this.#view && [this.#view.intensity, this.#view.roof];
  }

  #options(theme: ChartTheme): PlotOptions {
    const decades = (splits: number[]): (number | null)[] =>
      splits.map((value) => (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? value : null));
    const log = (more: uPlot.Axis): uPlot.Axis =>
      axis(theme, {
        filter: (_, splits) => decades(splits),
        grid: { stroke: theme.colour('line'), width: 1, filter: (_, splits) => decades(splits) },
        values: (_, splits) => splits.map((value) => ((value as number | null) === null ? '' : axisMagnitude(value))),
        ...more,
      });
    return {
      padding: [8, 12, 0, 0],
      scales: {
        x: { time: false, distr: LOGARITHMIC, range: () => this.#view?.xRange ?? [0.1, 10] },
        y: { distr: LOGARITHMIC, range: () => this.#view?.yRange ?? [0.1, 10] },
      },
      axes: [log({ size: 24 }), log({ size: 44 })],
      series: [{}, { stroke: theme.colour('ink-2'), width: 2, pxAlign: 0, points: { show: false } }],
      hooks: { draw: [(plot) => this.#drawPoints(plot, theme)] },
    };
  }

  /** A disc for decode, a diamond for prefill, each with a thread up to the roof. */
  #drawPoints(plot: uPlot, theme: ChartTheme): void {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    for (const { kind, intensity, gflops, shareOfFloor } of this.points) {
      if (!(intensity > 0 && gflops > 0)) continue;
      const x = plot.valToPos(intensity, 'x', true);
      const y = plot.valToPos(gflops, 'y', true);
      ctx.strokeStyle = ctx.fillStyle = theme.colour(COLOURS[kind]);
      if (shareOfFloor !== undefined && shareOfFloor > 0) {
        ctx.lineWidth = 1.5 * ratio;
        ctx.setLineDash([2 * ratio, 3 * ratio]);
        ctx.beginPath();
        ctx.moveTo(x, y);
        ctx.lineTo(x, plot.valToPos(gflops / shareOfFloor, 'y', true));
        ctx.stroke();
        ctx.setLineDash([]);
      }
      const radius = 6 * ratio;
      ctx.beginPath();
      if (kind === 'decode') ctx.arc(x, y, radius, 0, 2 * Math.PI);
      else {
        ctx.moveTo(x, y - radius * 1.2);
        ctx.lineTo(x + radius * 1.2, y);
        ctx.lineTo(x, y + radius * 1.2);
        ctx.lineTo(x - radius * 1.2, y);
        ctx.closePath();
      }
      ctx.fill();
      ctx.strokeStyle = theme.colour('surface');
      ctx.lineWidth = 2 * ratio;
      ctx.stroke();
    }
    ctx.restore();
  }

  #summary(): string {
    const { bytesPerSecond, flopPerSecond } = this.peaks;
    const roof =
      bytesPerSecond === undefined || flopPerSecond === undefined
        ? 'the roof of this device was not measured'
        : `this device reads ${formatSignificant(bytesPerSecond / 1e9)} gigabytes and computes ${formatSignificant(flopPerSecond / 1e9)} billion operations a second`;
    const points = this.points.map(
      ({ kind, intensity, gflops, shareOfFloor }) =>
        `${NAMES[kind]}: ${formatSignificant(gflops)} GFLOP/s at ${formatSignificant(intensity)} FLOP a byte${shareOfFloor === undefined ? '' : `, ${formatShare(shareOfFloor).spoken} of the roof`}`,
    );
    return `Roofline: ${[roof, ...points].join('; ')}`;
  }

  #renderLegend() {
    return html`<ul class="legend" aria-hidden="true">
      ${this.points.map(
        ({ kind, shareOfFloor }) =>
          html`<li>
            <i class=${kind} style="color: var(--_${COLOURS[kind]})"></i>${NAMES[kind]}${
              shareOfFloor === undefined
                ? nothing
                : html` <span class="figure">${formatShare(shareOfFloor).value} % of the roof</span>`
            }
          </li>`,
      )}
      ${this.#hasRoof() ? html`<li><i class="roof"></i>Best this device can do</li>` : nothing}
    </ul>`;
  }

  #hasRoof(): boolean {
    return this.peaks.bytesPerSecond !== undefined || this.peaks.flopPerSecond !== undefined;
  }

  protected override render() {
    const none = this.#view
      ? undefined
      : 'Measure this device, or ask something, to see where its steps are under the roof.';
    return renderChart({
      summary: this.#summary(),
      none,
      xName: 'FLOP per byte read',
      yName: 'GFLOP/s',
      legend: this.#view ? this.#renderLegend() : nothing,
      caption: this.#view && !this.#hasRoof() ? 'The roof is not drawn: this device was not measured yet.' : undefined,
      table: {
        head: ['Step', 'FLOP/byte', 'GFLOP/s', 'Of the roof'],
        rows: () => [
          ...this.points.map(({ kind, intensity, gflops, shareOfFloor }) => [
            NAMES[kind],
            formatSignificant(intensity),
            formatSignificant(gflops),
            shareOfFloor === undefined ? ABSENT : `${formatShare(shareOfFloor).value} %`,
          ]),
          ['Peak arithmetic', ABSENT, formatSignificant(scaled(this.peaks.flopPerSecond)), ABSENT],
          ['Peak GB/s', ABSENT, formatSignificant(scaled(this.peaks.bytesPerSecond)), ABSENT],
        ],
      },
    });
  }
}

const scaled = (perSecond: number | undefined): number | undefined =>
  perSecond === undefined ? undefined : perSecond / 1e9;

declare global {
  interface HTMLElementTagNameMap {
    'tg-roofline': TgRoofline;
  }
}

if (!customElements.get('tg-roofline')) customElements.define('tg-roofline', TgRoofline);
