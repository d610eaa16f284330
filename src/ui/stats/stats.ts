import { html, LitElement, nothing } from 'lit';
import { feelOf, ITL_FEEL, TTFT_FEEL, type FeelThreshold } from '../../runtime/metrics/feel.ts';
import {
  ABSENT,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatMsPerToken,
  formatRate,
  formatShare,
  type Figure,
} from '../internal/format.ts';
import { renderFeel } from '../internal/render-figure.ts';
import type { SpeculationSummary } from '../../runtime/metrics/speculation.ts';
import { controls } from '../styles/controls.ts';
import { feelStyles } from '../styles/feel.ts';
import { tokens } from '../styles/tokens.ts';
import { statsStyles } from './stats.styles.ts';

/** What the tiles show; whatever is absent is a dash. */
export interface Stats {
  ttftMs?: number | undefined;
  /** Median gap between tokens. */
  msPerToken?: number | undefined;
  /** Gaps that the median is of. */
  n?: number | undefined;
  tokensPerSecond?: number | undefined;
  prefillTokensPerSecond?: number | undefined;
  promptTokens?: number | undefined;
  cachedTokens?: number | undefined;
  /** Weights and the KV of the context now. */
  memoryBytes?: number | undefined;
  /** What drafts came to; its tile is there only with it. */
  speculation?: SpeculationSummary | undefined;
}

/**
 * The six figures of an answer, large, each with what it means: how it feels, or what it is of; a seventh where tokens are drafted.
 *
 * @summary Tiles: TTFT, ms/token, tok/s, prefill rate, cached share, memory, drafts
 * @csspart tile - One figure
 */
export class TgStats extends LitElement {
  static override styles = [tokens, controls, feelStyles, statsStyles];
  static override properties = {
    stats: { attribute: false },
    ttftFeel: { attribute: false },
    itlFeel: { attribute: false },
  };

  /** Figures to show; one that is absent is a dash. @default {} */
  declare stats: Stats;
  /** Thresholds of the first token. @default TTFT_FEEL */
  declare ttftFeel: readonly FeelThreshold[];
  /** Thresholds of a token. @default ITL_FEEL */
  declare itlFeel: readonly FeelThreshold[];

  constructor() {
    super();
    this.stats = {};
    this.ttftFeel = TTFT_FEEL;
    this.itlFeel = ITL_FEEL;
  }

  protected override render() {
    const { ttftMs, msPerToken, n, tokensPerSecond, prefillTokensPerSecond, promptTokens, memoryBytes } = this.stats;
    const computed = promptTokens === undefined ? undefined : promptTokens - (this.stats.cachedTokens ?? 0);
    const ttftFeel = feelOf(ttftMs, this.ttftFeel);
    const itlFeel = feelOf(msPerToken, this.itlFeel);
    const median = n === undefined || n === 0 ? 'median gap' : `median of n = ${formatCount(n)} gaps`;
    return html`
      <dl>
        ${renderTile('First token', formatMs(ttftMs), html`${renderFeel(ttftFeel)} TTFT`, 'lead')}
        ${renderTile('Each token', formatMsPerToken(msPerToken), html`${renderFeel(itlFeel)} ${median}`, 'lead')}
        ${renderTile('Writes', formatRate(tokensPerSecond), 'one stream')}
        ${renderTile(
          'Reads the prompt',
          formatRate(prefillTokensPerSecond),
          computed === undefined ? 'prefill' : `prefill of ${formatCount(computed)} tokens`,
        )}
        ${renderTile('From the cache', formatShare(this.#cachedShare()), promptTokens === undefined ? 'of the prompt' : `${formatCount(this.stats.cachedTokens ?? 0)} of ${formatCount(promptTokens)} tokens`)}
        ${renderTile('Memory', bytesFigure(memoryBytes), 'weights and KV')}
        ${this.stats.speculation ? renderDrafts(this.stats.speculation) : nothing}
      </dl>
    `;
  }

  #cachedShare(): number | undefined {
    const { promptTokens, cachedTokens } = this.stats;
    return promptTokens === undefined || promptTokens <= 0 || cachedTokens === undefined
      ? undefined
      : cachedTokens / promptTokens;
  }
}

function bytesFigure(bytes: number | undefined): Figure {
  const [value = ABSENT, unit = ''] = formatBytes(bytes).split(' ');
  return value === ABSENT ? { value, unit, spoken: 'not measured' } : { value, unit, spoken: `${value} ${unit}` };
}

function renderDrafts({
  draftedTokens,
  acceptedTokens,
  tokensPerVerifyStep,
  effectiveItlMs,
  savedMs,
}: SpeculationSummary) {
  const saved =
    savedMs === undefined ? nothing : html`, ${formatDuration(Math.abs(savedMs))} ${savedMs < 0 ? 'lost' : 'saved'}`;
  const each = html`${tokensPerVerifyStep.toFixed(1)} tokens a step, ${formatDuration(effectiveItlMs)} each${saved}`;
  return renderTile('Drafts right', formatShare(acceptedTokens / draftedTokens), each);
}

const renderTile = (name: string, { value, unit, spoken }: Figure, note: unknown, kind = '') => html`
  <div class="tile ${kind}" part="tile">
    <dt>${name}</dt>
    <dd class="big figure ${value === ABSENT ? 'absent' : ''}">
      <span aria-hidden="true">${value}${unit === '' ? nothing : html`<span class="unit"> ${unit}</span>`}</span>
      <span class="sr-only">${spoken}</span>
    </dd>
    <dd class="note">${note}</dd>
  </div>
`;

declare global {
  interface HTMLElementTagNameMap {
    'tg-stats': TgStats;
  }
}

if (!customElements.get('tg-stats')) customElements.define('tg-stats', TgStats);
