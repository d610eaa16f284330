import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { EngineName } from '../../shared/engines.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import type { CreateEngineOptions } from '../../worker/create-engine.ts';
import { tokens } from '../styles/tokens.ts';
import type { TgChat } from '../chat/chat.ts';
import '../chat/chat.ts';
import { EngineLoader, type LoaderState } from '../controllers/engine-loader.ts';
import type { TgModelEvent } from '../events/model-event.ts';
import type { TgErrorEvent } from '../events/request-events.ts';
import { TgReadyEvent } from '../events/waiting-event.ts';
import '../load/load.ts';
import type { TgOverlay } from '../overlay/overlay.ts';
import '../overlay/overlay.ts';
import { needsNewEngine } from '../internal/describe-error.ts';
import { assistantStyles } from './assistant.styles.ts';

/** Loaded only by pages that have this element, and only once a model is wanted. */
const createByDefault = async (options: CreateEngineOptions): Promise<Engine> => {
  const { createEngine } = await import('../../worker/create-engine.ts');
  return createEngine(options);
};

/**
 * A whole assistant in one tag: chat, loading, and, if wanted, the overlay. Nothing is downloaded before the visitor asks or turns to the
 * field, unless `eager` is set.
 *
 * @summary Chat with a model that it loads itself
 * @slot empty - Shown above the suggestions while nothing has been asked
 * @event tg-ready - The model is loaded (`element.engine`)
 * @event tg-waiting - Something was asked, and the model is not loaded yet
 * @event tg-request-start - A request was sent to the engine
 * @event tg-prefill - The engine begins to read the prompt
 * @event tg-first-token - The first text reached the page
 * @event tg-tokens - Text and tokens reached the page
 * @event tg-request-end - The answer is complete, or was stopped
 * @event tg-error - The request failed
 * @cssproperty --tg-chat-block-size - Height (default 36rem)
 *
 * @example
 * ```html
 * <script type="module" src="tokenglass/ui"></script>
 * <tg-assistant model="tutor" overlay></tg-assistant>
 * ```
 */
export class TgAssistant extends LitElement {
  static override styles = [tokens, assistantStyles];
  static override properties = {
    model: { type: String },
    backend: { type: String, attribute: 'engine' },
    systemPrompt: { type: String, attribute: 'system-prompt' },
    maxTokens: { type: Number, attribute: 'max-tokens' },
    placeholder: { type: String },
    suggestions: { attribute: false },
    eager: { type: Boolean },
    overlay: { type: String },
    createEngine: { attribute: false },
    loading: { state: true },
  };

  /** Catalog name or URL, as `createEngine` takes it. @default 'tutor' */
  declare model: string;
  /** The attribute is `engine`. @default 'auto' */
  declare backend: EngineName;
  /** Put before the conversation; empty for none. @default '' */
  declare systemPrompt: string;
  /** At most this many tokens an answer. @default what is left of the context */
  declare maxTokens: number | undefined;
  /** Shown in the field while it is empty. @default 'Ask a question' */
  declare placeholder: string;
  /** Questions to begin with. @default [] */
  declare suggestions: readonly string[];
  /** Load with the page. @default false */
  declare eager: boolean;
  /**
   * Show latency: `inline` (also the bare attribute) above the chat, or in a corner of the page, `bottom-right` say.
   * @default undefined (not shown)
   */
  declare overlay: TgOverlay['placement'] | '' | undefined;
  /** How the engine is made. @default `createEngine` of this package */
  declare createEngine: (options: CreateEngineOptions) => Promise<Engine>;
  declare private loading: LoaderState;

  readonly #loader = new EngineLoader(
    async (options) => this.createEngine(options),
    (state) => (this.loading = state),
  );
  #wanted = false;

  constructor() {
    super();
    this.model = 'tutor';
    this.backend = 'auto';
    this.systemPrompt = '';
    this.placeholder = 'Ask a question';
    this.suggestions = [];
    this.eager = false;
    this.createEngine = createByDefault;
    this.loading = {};
  }

  /** Undefined until the model is loaded. */
  // eslint-disable-next-line @typescript-eslint/related-getter-setter-pairs -- the attribute has the name of what it leads to
  get engine(): Engine | undefined {
    return this.loading.engine;
  }

  /** As the attribute of that name, which React and Vue set as a property where there is one. */
  set engine(name: EngineName) {
    this.backend = name;
  }

  /** The chat inside, for `ask`, `stop` and `clear`. Undefined before the first rendering. */
  get chat(): TgChat | null {
    return this.renderRoot.querySelector('tg-chat');
  }

  /** Loads the model now; once, however often it is called, until that fails or the model changes. */
  load(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#wanted = false;
    void this.#loader.dispose();
  }

  protected override updated(changed: PropertyValues<this>): void {
    const reload = this.#wanted && (changed.has('model') || changed.has('backend'));
    if (reload) void this.#load();
    else if (this.eager) this.load();
    // The overlay follows the chat, which is there only after the first rendering.
    const overlay = this.renderRoot.querySelector('tg-overlay');
    if (overlay && this.chat) overlay.source = this.chat;
  }

  async #load(): Promise<void> {
    try {
      await this.#loader.load({ model: this.model, engine: this.backend });
      this.dispatchEvent(new TgReadyEvent());
    } catch {
      // The loader's state has the error, which is shown; an abort means that something newer took over.
    }
  }

  readonly #handleWanted = () => this.load();

  readonly #handleRetry = () => void this.#load();

  readonly #handleModel = ({ model }: TgModelEvent) => {
    this.model = model;
    this.load();
  };

  readonly #handleError = ({ error }: TgErrorEvent) => {
    if (needsNewEngine(error)) void this.#load();
  };

  protected override render() {
    const { engine, progress, error } = this.loading;
    return html`
      ${
        this.overlay === undefined
          ? nothing
          : html`<tg-overlay .engine=${engine} .placement=${this.overlay || 'inline'}></tg-overlay>`
      }
      <tg-chat
        .engine=${engine}
        .systemPrompt=${this.systemPrompt}
        .maxTokens=${this.maxTokens}
        .placeholder=${this.placeholder}
        .suggestions=${this.suggestions}
        @focusin=${this.#handleWanted}
        @tg-waiting=${this.#handleWanted}
        @tg-error=${this.#handleError}
      >
        <slot name="empty" slot="empty"></slot>
        <tg-load
          slot="status"
          .progress=${progress}
          .error=${error}
          @tg-retry=${this.#handleRetry}
          @tg-model=${this.#handleModel}
        ></tg-load>
      </tg-chat>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-assistant': TgAssistant;
  }
}

if (!customElements.get('tg-assistant')) customElements.define('tg-assistant', TgAssistant);
