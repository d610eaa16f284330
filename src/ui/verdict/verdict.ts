import { html, LitElement, nothing } from 'lit';
import type { Diagnosis } from '../../runtime/metrics/diagnosis.ts';
import { STEP_SHARES, type StepShare } from '../../runtime/metrics/step-split.ts';
import { formatCount, formatDuration } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import type { Part } from '../parts-bar/parts-bar.ts';
import '../parts-bar/parts-bar.ts';
import { verdictStyles } from './verdict.styles.ts';

const NAMES: Readonly<Record<StepShare, readonly [key: string, label: string]>> = {
  memory: ['memory', 'Memory'],
  compute: ['flop', 'Arithmetic'],
  dispatch: ['dispatch', 'Dispatch'],
  readback: ['readback', 'Readback'],
  host: ['host', 'Host'],
};

/**
 * What limits the speed here, in words: for everybody, for engineers, and one thing to do about it; with the parts of the mean step that it
 * rests on.
 *
 * @summary The diagnosis in words
 * @csspart plain - The sentence for everybody
 */
export class TgVerdict extends LitElement {
  static override styles = [tokens, controls, verdictStyles];
  static override properties = { diagnosis: { attribute: false } };

  /** Of one kind of step. Absent while nothing was diagnosed. */
  declare diagnosis: Diagnosis | undefined;

  protected override render() {
    const { diagnosis } = this;
    if (!diagnosis) return html`<p class="none">Ask something to see what limits the speed here.</p>`;
    const { plain, finding, advice, caveats, n, stepMs, verdict } = diagnosis;
    return html`
      <p class="plain" part="plain">${plain}</p>
      <p class="finding">${finding}</p>
      ${verdict === undefined && n > 0 ? html`<p class="advice">${advice}</p>` : nothing}
      ${verdict === undefined ? nothing : html`<p class="advice"><b>What helps</b> ${advice}</p>`}
      ${
        stepMs === undefined
          ? nothing
          : html`<tg-parts-bar .parts=${partsOf(diagnosis)}></tg-parts-bar>
              <p class="count">
                Mean of n = ${formatCount(n)} ${diagnosis.kind} steps:
                <span class="figure">${formatDuration(stepMs)}</span>.
                ${diagnosis.hiddenSteps > 0 ? `${formatCount(diagnosis.hiddenSteps)} more ran while the page was hidden and are left out.` : nothing}
              </p>`
      }
      ${
        caveats.length === 0
          ? nothing
          : html`<details>
              <summary>What makes this less sure (${caveats.length})</summary>
              <ul>
                ${caveats.map((sentence) => html`<li>${sentence}</li>`)}
              </ul>
            </details>`
      }
    `;
  }
}

/** All that can be told apart, and the rest. */
function partsOf({ parts, unexplainedMs, belowRoofMs, computeOrWaitMs, roofline }: Diagnosis): Part[] {
  return [
    ...STEP_SHARES.map((share) => {
      const [key, label] = NAMES[share];
      return { key, label, ms: parts[`${share}Ms`] };
    }),
    ...(belowRoofMs > 0
      ? [{ key: 'slack', label: roofline.floorMs === undefined ? 'Computing' : 'Below the roof', ms: belowRoofMs }]
      : []),
    ...(computeOrWaitMs > 0 ? [{ key: 'slack', label: 'Not told apart', ms: computeOrWaitMs }] : []),
    { key: 'rest', label: 'Unexplained', ms: Math.max(0, unexplainedMs - belowRoofMs - computeOrWaitMs) },
  ];
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-verdict': TgVerdict;
  }
}

if (!customElements.get('tg-verdict')) customElements.define('tg-verdict', TgVerdict);
