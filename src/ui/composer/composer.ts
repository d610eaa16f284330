import { html, LitElement } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { TgStopEvent, TgSubmitEvent } from '../events/composer-events.ts';
import { icons } from '../internal/icons.ts';
import { composerStyles } from './composer.styles.ts';

/** `keyCode` of keys that an input method is still working on; `isComposing` is false on the closing Enter in Safari. */
const IME_KEY_CODE = 229;

/**
 * The field a question is written in. Enter sends, Shift+Enter makes a new line, Escape stops an answer. Writing goes on while an
 * answer streams; sending waits for it.
 *
 * @summary Text field with send and stop
 * @event tg-submit - The user sent a text (`event.text`); the field is empty again
 * @event tg-stop - The user pressed Stop or Escape while `busy`
 * @csspart field - The frame around the text area
 * @csspart button - The send or stop button
 */
export class TgComposer extends LitElement {
  static override styles = [tokens, controls, composerStyles];
  static override shadowRootOptions: typeof LitElement.shadowRootOptions = {
    ...LitElement.shadowRootOptions,
    delegatesFocus: true,
  };
  static override properties = {
    value: { type: String },
    placeholder: { type: String },
    label: { type: String },
    busy: { type: Boolean, reflect: true },
  };

  /** What is written and not yet sent. @default '' */
  declare value: string;
  /** Shown in the field while it is empty. @default 'Ask a question' */
  declare placeholder: string;
  /** Name of the field for assistive technology. @default 'Message' */
  declare label: string;
  /** An answer is being made: the button stops it. @default false */
  declare busy: boolean;

  constructor() {
    super();
    this.value = '';
    this.placeholder = 'Ask a question';
    this.label = 'Message';
    this.busy = false;
  }

  #submit(): void {
    const text = this.value.trim();
    if (this.busy || text === '') return;
    this.value = '';
    this.dispatchEvent(new TgSubmitEvent(text));
  }

  readonly #handleInput = (event: Event): void => {
    this.value = (event.target as HTMLTextAreaElement).value;
  };

  readonly #handleKeydown = (event: KeyboardEvent): void => {
    // The deprecated keyCode is the only sign of an unfinished composition in Safari.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    if (event.isComposing || event.keyCode === IME_KEY_CODE) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.#submit();
    }
  };

  readonly #handleButton = (): void => {
    if (this.busy) this.dispatchEvent(new TgStopEvent());
    else this.#submit();
    this.renderRoot.querySelector('textarea')?.focus();
  };

  protected override render() {
    return html`
      <div class="field" part="field">
        <textarea
          rows="1"
          aria-label=${this.label}
          placeholder=${this.placeholder}
          enterkeyhint="send"
          .value=${this.value}
          @input=${this.#handleInput}
          @keydown=${this.#handleKeydown}
        ></textarea>
        <button
          type="button"
          part="button"
          class="send"
          aria-label=${this.busy ? 'Stop' : 'Send'}
          title=${this.busy ? 'Stop (Esc)' : 'Send (Enter)'}
          ?disabled=${!this.busy && this.value.trim() === ''}
          @click=${this.#handleButton}
        >
          ${this.busy ? icons.stop : icons.send}
        </button>
      </div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-composer': TgComposer;
  }
}

if (!customElements.get('tg-composer')) customElements.define('tg-composer', TgComposer);
