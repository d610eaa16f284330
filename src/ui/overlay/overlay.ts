import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { Engine } from '../../runtime/request/engine.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import type { TgChat } from '../chat/chat.ts';
import { FollowController } from '../controllers/follow-controller.ts';
import { formatMs, formatMsPerToken } from '../internal/format.ts';
import { FrameCost } from '../internal/frame-cost.ts';
import { icons } from '../internal/icons.ts';
import { PacedFrame } from '../internal/paced-frame.ts';
import { paceOf } from '../internal/view-pace.ts';
import { renderFigure } from '../internal/render-figure.ts';
import { feelStyles } from '../styles/feel.ts';
import type { TgTimeline } from '../timeline/timeline.ts';
import { CornerController, type Corner } from './corner-controller.ts';
import { LiveFiguresModel, type LiveFigures } from './live-figures.ts';
import { overlayStyles } from './overlay.styles.ts';
import { PHASE_WORDS, renderCard } from './overlay-card.ts';

/** A guest on somebody's page: frames of its own take at most this share of the main thread, so where one costs more, there are fewer. */
const MAX_SHARE = 0.005;
/** But so often in any case, ms. */
const DRAW_AT_LEAST_EVERY_MS = 1000;

/**
 * Latency of the model in a corner of the page: one line, which opens to a card. Follows an engine, or a chat for the times at which
 * text reached the page, or both. Draws only when something has changed, up to 6 times a second, and less often where that would take more
 * than 0.5 % of the main thread.
 *
 * @summary Live TTFT and ms/token
 * @csspart line - The one line, a button that opens and closes the card
 * @csspart card - What the line opens to
 * @cssproperty --tg-overlay-inline-size - Width of the open card (default 22rem)
 *
 * @example
 * ```ts
 * overlay.source = document.querySelector('tg-chat')!;
 * overlay.engine = engine;
 * ```
 */
export class TgOverlay extends LitElement {
  static override styles = [tokens, controls, feelStyles, overlayStyles];
  static override properties = {
    engine: { attribute: false },
    source: { attribute: false },
    open: { type: Boolean, reflect: true },
    placement: { type: String, reflect: true, useDefault: true },
    figures: { state: true },
    announcement: { state: true },
  };

  /** Whose steps and requests are followed, and whose model and device are named. Another one begins anew. */
  declare engine: Engine | undefined;
  /** A chat whose requests are followed as the page sees them. */
  declare source: TgChat | undefined;
  /** The card is shown. @default false */
  declare open: boolean;
  /** A corner of the window, where the user may drag it to another (or press an arrow key on its line); or `inline` for where the element stands. @default 'bottom-right' */
  declare placement: Corner | 'inline';
  declare private figures: LiveFigures;
  declare private announcement: string;

  readonly #model = new LiveFiguresModel();
  readonly #frame = new PacedFrame(
    () => this.#draw(),
    () => this.#everyMs,
  );
  readonly #cost = new FrameCost();
  readonly #corner = new CornerController(this);

  constructor() {
    super();
    new FollowController(this, {
      onStep: (step) => this.#note(() => this.#model.onStep(step)),
      onRequest: (request) => this.#note(() => this.#model.onRequest(request)),
      onCall: () => {
        this.announcement = '';
        this.#note(() => this.#model.onCall());
      },
      onStart: (start) => this.#note(() => this.#model.onStart(start)),
      onFirstText: (ttftMs) => this.#note(() => this.#model.onFirstText(ttftMs)),
      onTokens: (output) => this.#note(() => this.#model.onTokens(output)),
      onEnd: (trace, outcome) => {
        this.#note(() => this.#model.onEnd(trace, outcome));
        if (trace) this.#announce();
      },
      onHidden: () => this.#model.onHidden(),
      onShown: (atMs) => this.#model.onShown(atMs),
    });
    this.open = false;
    this.placement = 'bottom-right';
    this.figures = this.#model.read();
    this.announcement = '';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#frame.cancel();
    this.#cost.stop();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    // What was measured of one engine says nothing of another, which the card would name beside it.
    if (!changed.has('engine') || changed.get('engine') === undefined) return;
    this.#model.clear();
    this.figures = this.#model.read();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('open') || changed.has('engine')) this.#drawTicks();
  }

  #note(change: () => void): void {
    change();
    this.#frame.request();
  }

  get #everyMs(): number {
    const affordableMs = (this.#cost.ms ?? 0) / MAX_SHARE;
    return Math.min(DRAW_AT_LEAST_EVERY_MS, Math.max(paceOf(this.engine?.info).liveMs, affordableMs));
  }

  #draw(): void {
    this.#cost.measure();
    this.#drawTicks();
    this.figures = this.#model.read();
  }

  #drawTicks(): void {
    const timeline = this.renderRoot.querySelector<TgTimeline>('tg-timeline');
    if (timeline) timeline.gapsMs = [...this.#model.gapsMs];
  }

  /** Once an answer; in words. */
  #announce(): void {
    const { ttftMs, latency } = this.#model.read();
    if (ttftMs === undefined) return;
    const perToken = latency.p50Ms === undefined ? '' : `, ${formatMsPerToken(latency.p50Ms).spoken}`;
    this.announcement = `First token after ${formatMs(ttftMs).spoken}${perToken}.`;
  }

  readonly #handleToggle = (event: MouseEvent) => {
    if (!this.#corner.takeDrag(event)) this.open = !this.open;
  };

  #renderLine() {
    const { phase } = this.figures;
    return html`
      <button
        type="button"
        class="line"
        part="line"
        aria-expanded=${this.open}
        aria-controls="card"
        @click=${this.#handleToggle}
        @pointerdown=${this.#corner.handlePointerDown}
        @keydown=${this.#corner.handleKeydown}
      >
        <span class="lamp ${phase}" aria-hidden="true"></span>
        ${
          this.open
            ? html`<span class="title">Latency</span><span class="phase">${PHASE_WORDS[phase]}</span>`
            : this.#renderFigures()
        }
        <span class="chevron">${icons.chevron}</span>
      </button>
    `;
  }

  #renderFigures() {
    const { ttftMs, latency, phase } = this.figures;
    const first = formatMs(ttftMs);
    const token = formatMsPerToken(phase === 'streaming' ? latency.nowMs : latency.p50Ms);
    return html`
      <span class="pair">
        <abbr class="name" title="Time to first token">TTFT</abbr>
        ${renderFigure(first)}
      </span>
      <span class="pair">${renderFigure(token)}</span>
    `;
  }

  protected override render() {
    return html`
      <section class="frame" aria-labelledby="title">
        <h2 id="title" class="sr-only">Latency</h2>
        ${this.#renderLine()}
        <div
          id="card"
          class="card"
          part="card"
          role="group"
          aria-label="Latency figures"
          tabindex="0"
          ?hidden=${!this.open}
        >
          ${this.open ? html`<div class="sections">${renderCard(this.figures, this.engine?.info)}</div>` : nothing}
        </div>
      </section>
      <div class="sr-only" role="status" aria-live="polite">${this.announcement}</div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-overlay': TgOverlay;
  }
}

if (!customElements.get('tg-overlay')) customElements.define('tg-overlay', TgOverlay);
