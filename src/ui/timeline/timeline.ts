import { html, LitElement, nothing, svg } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { formatMs } from '../internal/format.ts';
import { timelineStyles } from './timeline.styles.ts';
import { tickPaths, TICK_COUNT, VIEW_HEIGHT, VIEW_WIDTH } from './tick-paths.ts';

/**
 * One tick a token, as tall as the gap before it; the newest at the right. Gaps beyond `slowMs` have another colour and a
 * foot below the line, so that a stall is seen without telling colours apart.
 *
 * @summary Strip of the gaps between tokens
 * @csspart strip - The drawing
 */
export class TgTimeline extends LitElement {
  static override styles = [tokens, controls, timelineStyles];
  static override properties = { gapsMs: { attribute: false }, slowMs: { type: Number, attribute: 'slow-ms' } };

  /** Gaps between tokens in order of time; the last `TICK_COUNT` are shown. @default [] */
  declare gapsMs: readonly number[];
  /** Where a gap begins to be felt. @default Infinity */
  declare slowMs: number;

  constructor() {
    super();
    this.gapsMs = [];
    this.slowMs = Infinity;
  }

  protected override render() {
    const shown = this.gapsMs.slice(-TICK_COUNT);
    const { usual, slow, topMs } = tickPaths(shown, this.slowMs);
    const top = formatMs(topMs);
    const label =
      shown.length === 0
        ? 'Gaps between tokens: none yet'
        : `Gaps between the last ${shown.length + 1} tokens, at most ${formatMs(Math.max(...shown)).spoken}`;
    return html`
      <svg
        part="strip"
        role="img"
        aria-label=${label}
        viewBox="0 0 ${VIEW_WIDTH} ${VIEW_HEIGHT}"
        preserveAspectRatio="none"
      >
        ${svg`<path class="usual" d=${usual} /><path class="slow" d=${slow} />`}
      </svg>
      ${
        topMs === undefined
          ? nothing
          : html`<span class="top figure" aria-hidden="true">${top.value}<span class="unit"> ${top.unit}</span></span>`
      }
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-timeline': TgTimeline;
  }
}

if (!customElements.get('tg-timeline')) customElements.define('tg-timeline', TgTimeline);
