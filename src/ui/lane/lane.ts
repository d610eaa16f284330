import { html, LitElement, nothing } from 'lit';
import { systemClock } from '../../shared/clock.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { feelOf, ITL_FEEL, TTFT_FEEL } from '../../runtime/metrics/feel.ts';
import { LiveLatencyWindow } from '../../runtime/metrics/live.ts';
import { decodeRate } from '../../runtime/metrics/rates.ts';
import { tpot } from '../../runtime/metrics/tpot.ts';
import { ttft } from '../../runtime/metrics/ttft.ts';
import { GenerationController, GenerationState } from '../controllers/generation-controller.ts';
import { describeError } from '../internal/describe-error.ts';
import { ABSENT, formatMs, formatMsPerToken, formatRate, type Figure } from '../internal/format.ts';
import { FrameScheduler } from '../internal/frame-scheduler.ts';
import { renderFeel } from '../internal/render-figure.ts';
import '../markdown/markdown.ts';
import { TextStream } from '../markdown/text-stream.ts';
import { controls } from '../styles/controls.ts';
import { feelStyles } from '../styles/feel.ts';
import { tokens } from '../styles/tokens.ts';
import type { LaneFigures } from './compare-words.ts';
import { laneStyles } from './lane.styles.ts';

/**
 * One contestant on a large screen: its first token and its time per token as figures that can be read from the last row, and the text as
 * it comes. A clock runs until the first token is there.
 *
 * @summary Large live figures of one engine
 * @slot - Above the figures: who this is
 * @csspart figure - One of the two large figures
 */
export class TgLane extends LitElement {
  static override styles = [tokens, controls, feelStyles, laneStyles];
  static override properties = { engine: { attribute: false }, label: { type: String } };

  /** Who answers. */
  declare engine: Engine | undefined;
  /** Said where the lane is read out. @default '' */
  declare label: string;

  readonly #generation = new GenerationController(this, {
    onDelta: ({ text, tokens: made }) => {
      this.#answer.append(text);
      for (const { atMs } of made) this.#window.token(atMs);
      this.#frame.request();
    },
    onFirstText: ({ ttftMs }) => (this.#figures = { ...this.#figures, ttftMs }),
    onCall: ({ calledMs }) => (this.#calledMs = calledMs),
    onEnd: ({ trace }) => {
      this.#answer.close();
      this.#figures = {
        ttftMs: (trace && ttft(trace)) ?? this.#figures.ttftMs,
        tpotMs: trace && tpot(trace),
        promptTokens: trace?.usage.promptTokens,
        cachedTokens: trace?.usage.cachedTokens,
      };
      this.#rate = trace && decodeRate(trace);
    },
    onError: () => this.#answer.close(),
  });
  readonly #window = new LiveLatencyWindow();
  readonly #frame = new FrameScheduler(() => this.#tick());
  #answer = TextStream.of('');
  #figures: Omit<LaneFigures, 'text'> = {};
  #rate: number | undefined;
  #calledMs: number | undefined;

  constructor() {
    super();
    this.label = '';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#frame.cancel();
  }

  /** True while an answer is made. */
  get busy(): boolean {
    return this.#generation.busy;
  }

  /** Of the latest run. */
  get figures(): LaneFigures {
    return { ...this.#figures, text: this.#answer.text };
  }

  /** Empties the lane, so that both begin from nothing. */
  reset(): void {
    this.#generation.reset();
    this.#answer.close();
    this.#answer = TextStream.of('');
    this.#figures = {};
    this.#rate = this.#calledMs = undefined;
    this.#window.clear();
    this.requestUpdate();
  }

  /** Asks the engine; resolves when the answer has ended, was stopped or failed. */
  async run(request: GenerateRequest): Promise<LaneFigures> {
    this.reset();
    if (!this.engine) return this.figures;
    this.#answer = new TextStream();
    this.#frame.request();
    await this.#generation.run(this.engine, request);
    await this.updateComplete;
    return this.figures;
  }

  stop(): void {
    this.#generation.stop();
  }

  /** The clock of the wait is the one thing here that changes without an event. */
  #tick(): void {
    this.requestUpdate();
    if (this.#generation.busy && this.#figures.ttftMs === undefined) this.#frame.request();
  }

  get #waitedMs(): number | undefined {
    const { ttftMs } = this.#figures;
    if (ttftMs !== undefined) return ttftMs;
    return this.#generation.busy && this.#calledMs !== undefined ? systemClock.now() - this.#calledMs : undefined;
  }

  #renderFigure(name: string, { value, unit, spoken }: Figure, note: unknown, running = false) {
    return html`
      <div part="figure" class=${running ? 'running' : nothing}>
        <dt>${name}</dt>
        <dd class="big figure ${value === ABSENT ? 'absent' : ''}">
          <span aria-hidden="true">${value}<span class="unit"> ${unit}</span></span>
          <span class="sr-only">${spoken}</span>
        </dd>
        <dd class="note">${note}</dd>
      </div>
    `;
  }

  protected override render() {
    const { ttftMs, tpotMs } = this.#figures;
    const { state, error } = this.#generation;
    const live = this.#window.read();
    const perTokenMs = tpotMs ?? live.p50Ms;
    const rate = formatRate(this.#rate ?? live.tokensPerSecond);
    const waits = ttftMs === undefined && (state === GenerationState.queued || state === GenerationState.prefill);
    return html`
      <section aria-label=${this.label}>
        <slot></slot>
        <dl>
          ${this.#renderFigure('First word', formatMs(this.#waitedMs), waits ? 'waiting' : renderFeel(feelOf(ttftMs, TTFT_FEEL)), waits)}
          ${this.#renderFigure(
            'Each token',
            formatMsPerToken(perTokenMs),
            html`${renderFeel(feelOf(perTokenMs, ITL_FEEL))}
            ${rate.value === ABSENT ? nothing : html`<span class="figure">${rate.value} ${rate.unit}</span>`}`,
          )}
        </dl>
        <div class="answer">
          <tg-markdown .source=${this.#answer}></tg-markdown>
          ${error ? html`<p class="error" role="alert">${describeError(error).title}. ${describeError(error).advice}</p>` : nothing}
        </div>
      </section>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-lane': TgLane;
  }
}

if (!customElements.get('tg-lane')) customElements.define('tg-lane', TgLane);
