import { html, LitElement, nothing, type PropertyValues } from 'lit';
import { formatDuration, formatShare } from '../internal/format.ts';
import { FrameScheduler } from '../internal/frame-scheduler.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { latencyScale, levelOf, type LatencyScale } from './latency-scale.ts';
import type { TokenPiece, TokenPieces } from './token-pieces.ts';
import { tokenViewStyles } from './token-view.styles.ts';

/** While a text grows, its scale is renewed after this many pieces: the tint of what stands does not flicker. */
const RESCALE_EVERY = 32;

/**
 * A text with each token tinted and underlined by the time it took, so that a stall is seen where it happened. Pointing at a token, or moving
 * along with the arrow keys, tells its id, time and probability.
 *
 * @summary Latency on the text itself
 * @csspart text - The text
 * @csspart detail - What is told of one token
 */
export class TgTokenView extends LitElement {
  static override styles = [tokens, controls, tokenViewStyles];
  static override properties = { source: { attribute: false }, scale: { state: true }, selected: { state: true } };

  /** Text that may still grow. */
  declare source: TokenPieces | undefined;
  declare private scale: LatencyScale | undefined;
  /** The piece that is told of. */
  declare private selected: number | undefined;

  readonly #frame = new FrameScheduler(() => this.#draw());
  #drawn = 0;
  #scaledAt = 0;
  #unsubscribe: (() => void) | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.#follow();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    this.#frame.cancel();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('source')) {
      this.#text?.replaceChildren();
      this.#drawn = this.#scaledAt = 0;
      this.scale = this.selected = undefined;
      this.#follow();
    }
  }

  get #text(): HTMLElement | null {
    return this.renderRoot.querySelector('.text');
  }

  #follow(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = this.source?.subscribe(() => this.#frame.request());
    this.#frame.request();
  }

  /** Adds what is new; spans that stand are touched only when the scale changes. */
  #draw(): void {
    const { source } = this;
    const text = this.#text;
    if (!source || !text) return;
    const { pieces } = source;
    if (
      source.closed ? this.#scaledAt !== pieces.length : pieces.length - this.#scaledAt >= RESCALE_EVERY || !this.scale
    )
      this.#rescale(pieces, text);
    const added = document.createDocumentFragment();
    for (; this.#drawn < pieces.length; this.#drawn += 1) {
      const piece = pieces[this.#drawn]!;
      const span = document.createElement('span');
      span.textContent = piece.text;
      span.className = levelOf(piece.gapMs, this.scale);
      span.dataset['at'] = String(this.#drawn);
      added.append(span);
    }
    text.append(added);
    this.toggleAttribute('streaming', !source.closed);
    if (source.closed) this.requestUpdate();
  }

  #rescale(pieces: readonly TokenPiece[], text: HTMLElement): void {
    const gapsMs = pieces.flatMap(({ tokens: of }) => of.flatMap(({ gapMs }) => (gapMs === undefined ? [] : [gapMs])));
    this.scale = latencyScale(gapsMs);
    this.#scaledAt = pieces.length;
    for (const [at, span] of [...text.children].entries()) {
      const level = levelOf(pieces[at]?.gapMs, this.scale);
      if (!span.classList.contains(level)) span.className = level;
    }
    this.#mark();
  }

  #select(at: number | undefined): void {
    this.selected = at;
    this.#mark();
  }

  /** Marks the piece that is told of, and no other. */
  #mark(): void {
    const text = this.#text;
    text?.querySelector('.told')?.classList.remove('told');
    if (this.selected !== undefined) text?.children[this.selected]?.classList.add('told');
  }

  readonly #handlePointer = (event: Event): void => {
    const at = (event.target as HTMLElement).dataset['at'];
    if (at !== undefined) this.#select(Number(at));
  };

  readonly #handleKeydown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's: back, say
    const last = this.#drawn - 1;
    const at = this.selected;
    const [back, on] = [Math.max(0, (at ?? 1) - 1), at === undefined ? 0 : Math.min(last, at + 1)];
    const isRtl = this.#text?.matches(':dir(rtl)') ?? false;
    const next = {
      ArrowLeft: isRtl ? on : back,
      ArrowRight: isRtl ? back : on,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.#select(next);
    this.#text?.children[next]?.scrollIntoView({ block: 'nearest' });
  };

  #renderDetail() {
    const piece = this.selected === undefined ? undefined : this.source?.pieces[this.selected];
    if (!piece) return html`<span class="hint">Point at a token, or use the arrow keys.</span>`;
    const { text, tokens: of, index } = piece;
    const several = of.length > 1;
    return html`
      <b>${several ? `Tokens ${index} to ${index + of.length - 1}` : `Token ${index}`}</b>
      <q>${text.replaceAll('\n', '⏎').replaceAll(' ', '\u00a0')}</q>
      ${of.map(
        ({ id, gapMs, probability }) =>
          html`<span class="figure">
            ${gapMs === undefined ? 'first' : formatDuration(gapMs)}
            <span class="unit"
              >id ${id}${probability === undefined ? nothing : `, p ${formatShare(probability).value} %`}</span
            >
          </span>`,
      )}
    `;
  }

  #renderLegend() {
    const { scale } = this;
    return html`
      <ul class="legend" aria-label="Legend">
        <li><span class="usual">usual</span></li>
        <li>
          <span class="slower">slower</span>
          ${scale ? html`<small>over ${formatDuration(scale.slowerMs)}</small>` : nothing}
        </li>
        <li>
          <span class="slow">slow</span> ${scale ? html`<small>over ${formatDuration(scale.slowMs)}</small>` : nothing}
        </li>
        <li>
          <span class="stall">stall</span>
          ${scale ? html`<small>over ${formatDuration(scale.stallMs)}</small>` : nothing}
        </li>
      </ul>
    `;
  }

  protected override render() {
    const cut = this.source && this.source.count > this.source.kept;
    return html`
      <div
        class="text"
        part="text"
        dir="auto"
        role="group"
        tabindex="0"
        aria-label="Answer by token; arrow keys tell of each"
        @pointerover=${this.#handlePointer}
        @click=${this.#handlePointer}
        @keydown=${this.#handleKeydown}
      ></div>
      ${cut ? html`<p class="cut">The first ${this.source?.kept} tokens; ${this.source?.count} were made.</p>` : nothing}
      <div class="foot">
        <div class="detail" part="detail" role="status">${this.#renderDetail()}</div>
        ${this.#renderLegend()}
      </div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-token-view': TgTokenView;
  }
}

if (!customElements.get('tg-token-view')) customElements.define('tg-token-view', TgTokenView);
