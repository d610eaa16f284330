import { html, LitElement, nothing } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { ABSENT, formatMs } from '../internal/format.ts';
import { partsBarStyles } from './parts-bar.styles.ts';

export interface Part {
  /**
   * Chooses the colour: of TTFT `queue`, `tokenize`, `cache`, `prefill`, `sample`, `delivery`; of a step `host`, `compute`, `readback`, `sample`,
   * `rest`; of a diagnosis `memory`, `flop`, `dispatch`, `readback`, `host`, `rest`.
   */
  key: string;
  label: string;
  /** Absent if it was not measured. */
  ms: number | undefined;
}

/**
 * A duration as the sum of its parts: one bar, and the parts by name and figure below it.
 *
 * @summary Stacked bar of a latency
 * @csspart bar - The stacked bar
 * @csspart legend - The list of parts
 */
export class TgPartsBar extends LitElement {
  static override styles = [tokens, controls, partsBarStyles];
  static override properties = { parts: { attribute: false } };

  /** In order of time. Empty while nothing was measured. @default [] */
  declare parts: readonly Part[];

  constructor() {
    super();
    this.parts = [];
  }

  protected override render() {
    const measured = this.parts.filter(({ ms }) => ms !== undefined && ms > 0);
    return html`
      <div class="bar" part="bar" aria-hidden="true">
        ${measured.map(({ key, ms }) => html`<i class=${key} style="flex-grow: ${ms ?? 0}"></i>`)}
      </div>
      ${
        this.parts.length === 0
          ? nothing
          : html`<dl part="legend">
              ${this.parts.map(({ key, label, ms }) => {
                const { value, spoken, unit } = formatMs(ms);
                return html`<div>
                  <dt><i class=${key} aria-hidden="true"></i>${label}</dt>
                  <dd class="figure" aria-label=${spoken}>
                    ${value}${value === ABSENT ? nothing : html`<span class="unit"> ${unit}</span>`}
                  </dd>
                </div>`;
              })}
            </dl>`
      }
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-parts-bar': TgPartsBar;
  }
}

if (!customElements.get('tg-parts-bar')) customElements.define('tg-parts-bar', TgPartsBar);
