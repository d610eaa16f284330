import { html, LitElement } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { copyText } from '../internal/copy-text.ts';
import { icons } from '../internal/icons.ts';
import { copyButtonStyles } from './copy-button.styles.ts';

/** How long the button says that it copied, ms. */
const SAY_MS = 2000;

/**
 * Copies a text to the clipboard and says whether that worked.
 *
 * @summary Button that copies
 */
export class TgCopyButton extends LitElement {
  static override styles = [tokens, controls, copyButtonStyles];
  static override properties = {
    text: { attribute: false },
    label: { type: String },
    outcome: { state: true },
  };

  /** What is copied; asked for on the click. */
  declare text: () => string;
  /** Name of the button for assistive technology. @default 'Copy' */
  declare label: string;
  declare private outcome: 'copied' | 'refused' | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.text = () => '';
    this.label = 'Copy';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  readonly #handleClick = async (): Promise<void> => {
    // Refused: the reader sees it and can select the text.
    this.outcome = (await copyText(this.text())) ? 'copied' : 'refused';
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.outcome = undefined), SAY_MS);
  };

  protected override render() {
    const words = this.outcome === 'copied' ? 'Copied' : this.outcome === 'refused' ? 'Not allowed' : 'Copy';
    return html`
      <button type="button" class="quiet" aria-label=${this.label} @click=${() => void this.#handleClick()}>
        ${this.outcome === 'copied' ? icons.done : icons.copy} ${words}
      </button>
      <span class="sr-only" role="status">${this.outcome === undefined ? '' : words}</span>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-copy-button': TgCopyButton;
  }
}

if (!customElements.get('tg-copy-button')) customElements.define('tg-copy-button', TgCopyButton);
