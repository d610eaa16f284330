import { html, LitElement, type PropertyValues } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { copyText } from '../internal/copy-text.ts';
import { FrameScheduler } from '../internal/frame-scheduler.ts';
import { markdownStyles } from './markdown.styles.ts';
import type { MarkdownCost, MarkdownStream } from './markdown-stream.ts';
import { TextStream } from './text-stream.ts';

type Renderer = typeof MarkdownStream;

/** Parser and sanitiser are fetched with the first text, so that a page that waits for a model waits for nothing else. */
let renderer: Renderer | undefined;
let loading: Promise<void> | undefined;
const loadRenderer = (): Promise<void> =>
  (loading ??= import('./markdown-stream.ts').then(
    (module) => void (renderer = module.MarkdownStream),
    (error: unknown) => {
      loading = undefined;
      throw error;
    },
  ));

/**
 * Shows Markdown that was written by a model, also while it is being written. The text is not trusted: HTML in it is shown as
 * text, images become links, links may only lead to http, https and mail addresses and open apart.
 *
 * @summary Streaming, sanitised Markdown in linear time
 * @csspart body - The rendered text
 *
 * @example
 * ```ts
 * const answer = new TextStream();
 * element.source = answer;
 * for await (const event of engine.generate(request)) if (event.type === 'delta') answer.append(event.text);
 * answer.close();
 * ```
 */
export class TgMarkdown extends LitElement {
  static override styles = [tokens, controls, markdownStyles];
  static override properties = {
    source: { attribute: false },
    text: { type: String },
  };

  /** Text that may still grow. Takes the place of `text`. */
  declare source: TextStream | undefined;
  /** Text that is complete. */
  declare text: string;

  readonly #frame = new FrameScheduler(() => this.#render());
  #shown: TextStream | undefined;
  #stream: MarkdownStream | undefined;
  #taken = 0;
  #unsubscribe: (() => void) | undefined;

  constructor() {
    super();
    this.text = '';
  }

  /** True while the text may still grow; shown as the attribute `streaming`. */
  get streaming(): boolean {
    return this.hasAttribute('streaming');
  }

  /** What rendering has cost so far. */
  get cost(): MarkdownCost {
    return { ...(this.#stream?.cost ?? { renders: 0, parsedCharacters: 0 }) };
  }

  /** The visible text, without marks of Markdown. */
  get plainText(): string {
    this.#frame.flush();
    return this.renderRoot.querySelector('.body')?.textContent ?? '';
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.#shown) this.#follow(this.#shown);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unsubscribe?.();
    this.#frame.cancel();
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has('source') && !changed.has('text')) return;
    const next = this.source ?? TextStream.of(this.text);
    if (next === this.#shown) return;
    this.#stream = undefined;
    this.#follow(next);
    this.#render();
  }

  /** Waits for the parser too, where there is a text for it. */
  protected override async getUpdateComplete(): Promise<boolean> {
    const isDone = await super.getUpdateComplete();
    if (this.#shown?.count) await loadRenderer().then(() => this.#render());
    return isDone;
  }

  #follow(source: TextStream): void {
    this.#unsubscribe?.();
    this.#shown = source;
    this.#unsubscribe = source.subscribe(() => {
      this.#frame.request();
      // A hidden page gets no frames; the end of the text is shown all the same.
      if (source.closed && document.hidden) this.#frame.flush();
    });
    this.#frame.request();
  }

  #render(): void {
    const source = this.#shown;
    const body = this.renderRoot.querySelector('.body');
    if (!source || !body) return;
    // Not a reactive property: nothing that Lit renders depends on it.
    this.toggleAttribute('streaming', !source.closed);
    if (!renderer && source.count > 0) {
      // The text as it is, until its marks can be read.
      body.textContent = source.piecesFrom(0);
      loadRenderer().then(
        () => this.#render(),
        () => undefined, // the text stays as it is
      );
      return;
    }
    if (!renderer) return;
    if (!this.#stream) {
      this.#stream = new renderer(body);
      this.#taken = 0;
    }
    this.#stream.append(source.piecesFrom(this.#taken));
    this.#taken = source.count;
    if (source.closed) this.#stream.finish();
    else this.#stream.render();
  }

  readonly #handleClick = (event: Event): void => {
    const button = (event.target as Element).closest<HTMLButtonElement>('button.copy-code');
    const code = button?.closest('figure')?.querySelector('code')?.textContent;
    if (!button || code == null) return;
    void copyText(code).then((isCopied) => this.#say(button, isCopied ? 'Copied' : 'Copying was refused'));
  };

  #say(button: HTMLButtonElement, words: string): void {
    button.textContent = words;
    button.addEventListener('blur', () => (button.textContent = 'Copy'), { once: true });
    button.addEventListener('pointerleave', () => (button.textContent = 'Copy'), { once: true });
  }

  protected override render() {
    return html`<div class="body" part="body" @click=${this.#handleClick}></div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-markdown': TgMarkdown;
  }
}

if (!customElements.get('tg-markdown')) customElements.define('tg-markdown', TgMarkdown);
