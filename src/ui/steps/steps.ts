import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type uPlot from 'uplot';
import { axisDigits, plainAxis, axis } from '../chart/axes.ts';
import { chartStyles } from '../chart/chart.styles.ts';
import type { ChartTheme } from '../chart/chart-theme.ts';
import { PlotController, type PlotLibrary, type PlotOptions } from '../chart/plot-controller.ts';
import { renderChart } from '../chart/render-chart.ts';
import { formatCount, formatDuration, formatMs, formatMsDigits, formatMsPerToken } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import '../parts-bar/parts-bar.ts';
import { namedStepParts, STEP_PART_KEYS, STEP_PART_LABELS, type StepPartKey } from './step-parts.ts';
import { stepsStyles } from './steps.styles.ts';
import { stackedHeights, type TokenTick } from './ticks.ts';

/** Narrower bars cannot be told apart, CSS px. */
const BAR_PX = 5;
const COLOURS: Readonly<Record<StepPartKey, string>> = {
  host: 'part-cache',
  compute: 'part-prefill',
  readback: 'part-delivery',
  sample: 'part-sample',
  rest: 'part-queue',
};

/**
 * A bar for each token, as tall as the gap before it and made of the parts of its step. Pointing at a bar, or moving along with the arrow
 * keys, tells the parts in figures.
 *
 * @summary Time line of tokens with the parts of their steps
 * @csspart plot - The drawing
 * @cssproperty --tg-chart-block-size - Height of the plot (default 11rem)
 */
export class TgSteps extends LitElement {
  static override styles = [tokens, controls, chartStyles, stepsStyles];
  static override properties = { ticks: { attribute: false }, selected: { state: true } };

  /** In order of time; the latest that fit are drawn. @default [] */
  declare ticks: readonly TokenTick[];
  /** Place of the token that is told of; undefined for none. */
  declare private selected: number | undefined;

  #shown: readonly TokenTick[] = [];
  readonly #plot = new PlotController(this, {
    options: (theme, library) => this.#options(theme, library),
    data: () => this.#data(),
    onHover: (at) => (this.selected = at === null ? undefined : this.#shown[at]?.index),
  });

  constructor() {
    super();
    this.ticks = [];
  }

  /** How often the canvas was drawn. */
  get draws(): number {
    return this.#plot.draws;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('ticks')) this.#plot.draw();
  }

  #data(): uPlot.AlignedData | undefined {
    const room = Math.max(16, Math.floor((this.clientWidth - 40) / BAR_PX));
    const withGap = this.ticks.filter(({ gapMs }) => gapMs !== undefined);
    this.#shown = withGap.slice(-room);
    if (this.#shown.length === 0) return undefined;
    const heights = stackedHeights(this.#shown, STEP_PART_KEYS);
    return [this.#shown.map(({ index }) => index), ...heights.toReversed()];
  }

  #options(theme: ChartTheme, library: PlotLibrary): PlotOptions {
    const bars = library.paths.bars?.({ size: [0.8, 12], align: 0 });
    return {
      padding: [6, 0, 0, 0],
      scales: {
        x: { time: false, range: (_, min, max) => this.#xRange(min, max) },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
      },
      axes: [
        plainAxis(theme, {
          values: (_, splits) => splits.map((at) => (Number.isInteger(at) && at > 0 ? axisDigits(at) : '')),
        }),
        axis(theme, { size: 38, space: 32 }),
      ],
      series: [
        {},
        ...STEP_PART_KEYS.toReversed().map((key) => ({
          fill: theme.colour(COLOURS[key]),
          width: 0,
          ...(bars && { paths: bars }),
          points: { show: false },
        })),
      ],
    };
  }

  /** A few tokens stand at the left, as wide as many would be, and do not fill the plot with blocks. */
  #xRange(min: number, max: number): [number, number] {
    const room = Math.max(16, Math.floor((this.clientWidth - 40) / BAR_PX));
    return [min - 1, Math.max(max + 1, min + Math.min(room, 48))];
  }

  readonly #handleKeydown = (event: KeyboardEvent): void => {
    // Within is the table, which scrolls by the same keys; and with a modifier they are the browser's.
    if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.#shown.findIndex(({ index }) => index === this.selected);
    const last = this.#shown.length - 1;
    const next = {
      ArrowLeft: at < 0 ? last : Math.max(0, at - 1),
      ArrowRight: at < 0 ? last : Math.min(last, at + 1),
      Home: 0,
      End: last,
      Escape: -1,
    }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.selected = this.#shown[next]?.index;
    this.#plot.point(next < 0 ? null : next);
  };

  #longest(): TokenTick | undefined {
    return this.ticks.reduce<TokenTick | undefined>(
      (most, tick) => ((tick.gapMs ?? -1) > (most?.gapMs ?? -1) ? tick : most),
      undefined,
    );
  }

  #summary(): string {
    const gaps = this.ticks.flatMap(({ gapMs }) => (gapMs === undefined ? [] : [gapMs]));
    if (gaps.length === 0) return 'Time of each token: nothing measured yet';
    const longest = this.#longest();
    return `Time of each of ${gaps.length} tokens; the longest gap is ${formatMs(longest?.gapMs).spoken}, before token ${longest?.index ?? 0}. Arrow keys move from token to token.`;
  }

  #renderLegend() {
    const keys = this.ticks.some(({ parts }) => parts) ? this.#keys() : [];
    return keys.length === 0
      ? nothing
      : html`<ul class="legend" aria-hidden="true">
          ${keys.map((key) => html`<li><i style="color: var(--_${COLOURS[key]})"></i>${STEP_PART_LABELS[key]}</li>`)}
        </ul>`;
  }

  /** Parts that any of the tokens has. */
  #keys(): StepPartKey[] {
    return STEP_PART_KEYS.filter((key) => this.ticks.some(({ parts }) => (parts?.[key] ?? 0) > 0));
  }

  #renderDetail() {
    const chosen = this.ticks.find(({ index }) => index === this.selected);
    const tick = chosen ?? this.#longest();
    if (!tick) return nothing;
    const { value, unit } = formatMsPerToken(tick.gapMs);
    const more = [
      ...(tick.id === undefined ? [] : [`id ${tick.id}`]),
      ...(tick.contextTokens === undefined ? [] : [`context ${formatCount(tick.contextTokens)}`]),
      ...(tick.batch === undefined || tick.batch < 2 ? [] : [`batch ${tick.batch}`]),
      ...(tick.deliveryMs === undefined ? [] : [`delivered after ${formatDuration(tick.deliveryMs)}`]),
    ];
    return html`
      <p class="figure">
        <b>${chosen ? 'Token' : 'Longest: token'} ${tick.index}</b> <b>${value}</b> <span class="unit">${unit}</span>
        <span class="more">${more.join(' · ')}</span>
      </p>
      ${
        tick.parts
          ? html`<tg-parts-bar .parts=${namedStepParts(tick.parts)}></tg-parts-bar>`
          : html`<p class="hint">The engine told nothing of this step.</p>`
      }
    `;
  }

  protected override render() {
    const none = this.ticks.some(({ gapMs }) => gapMs !== undefined)
      ? undefined
      : 'A bar for each token of the answer appears here, once there are two.';
    return html`
      <div
        class="keys"
        role="group"
        tabindex=${none === undefined ? 0 : nothing}
        aria-label="Tokens in order of time"
        @keydown=${this.#handleKeydown}
      >
        ${renderChart({
          summary: this.#summary(),
          none,
          xName: 'token of the answer',
          yName: 'ms',
          legend: this.#renderLegend(),
          table: {
            head: ['Token', 'ms', ...STEP_PART_KEYS.map((key) => STEP_PART_LABELS[key])],
            rows: () => this.#rows(),
          },
        })}
      </div>
      ${none === undefined ? html`<div class="detail" aria-live=${this.selected === undefined ? 'off' : 'polite'}>${this.#renderDetail()}</div>` : nothing}
    `;
  }

  #rows(): string[][] {
    return this.ticks.map(({ index, gapMs, parts }) => [
      String(index),
      formatMsDigits(gapMs),
      ...STEP_PART_KEYS.map((key) => formatMsDigits(parts?.[key])),
    ]);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-steps': TgSteps;
  }
}

if (!customElements.get('tg-steps')) customElements.define('tg-steps', TgSteps);
