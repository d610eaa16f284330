import { html, LitElement, nothing, type PropertyValues } from 'lit';
import type { TokenglassError } from '../../shared/errors.ts';
import type { LoadProgress, LoadWarning } from '../../shared/info.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { catalogEntry } from '../../runtime/models/catalog-entries.ts';
import { TgModelEvent } from '../events/model-event.ts';
import { TgRetryEvent } from '../events/retry-event.ts';
import { describeError } from '../internal/describe-error.ts';
import { formatBytes } from '../internal/format.ts';
import { icons } from '../internal/icons.ts';
import { loadStyles } from './load.styles.ts';

/**
 * How far loading a model has come, in bytes and words; or why it failed, and what to do. Takes no room once the model is ready, unless
 * something is worth knowing (the model runs but could not be saved, say), which stays until it is dismissed.
 *
 * @summary Progress and failure of loading
 * @event tg-retry - The user wants to load again
 * @event tg-model - The user wants the smaller model that was offered (`event.model`)
 * @slot actions - Further ways on, shown beside "Load again" after a failure
 * @csspart bar - The progress bar
 * @csspart error - The failure
 * @csspart warning - What went wrong without ending the load
 *
 * @example
 * ```ts
 * const engine = await createEngine({ model: 'tutor', onProgress: (progress) => (element.progress = progress) });
 * ```
 */
export class TgLoad extends LitElement {
  static override styles = [tokens, controls, loadStyles];
  static override properties = {
    progress: { attribute: false },
    error: { attribute: false },
    _warning: { state: true },
  };

  /** As `createEngine` reports it. */
  declare progress: LoadProgress | undefined;
  /** Takes the place of the progress. */
  declare error: TokenglassError | undefined;
  /** The latest of this load. */
  declare private _warning: LoadWarning | undefined;

  readonly #handleRetry = () => this.dispatchEvent(new TgRetryEvent());

  #renderError(error: TokenglassError) {
    const { title, advice } = describeError(error);
    return html`
      <div class="error" part="error" role="alert">
        <p class="title">${icons.warning} ${title}</p>
        <p>${advice}</p>
        <p class="sentence">${error.message}</p>
        <div class="actions">
          ${this.#renderSmaller(smallerModelOf(error))}
          <button type="button" class="outline" @click=${this.#handleRetry}>${icons.again} Load again</button>
          <slot name="actions"></slot>
        </div>
      </div>
    `;
  }

  protected override willUpdate(changed: PropertyValues<this>) {
    if (!changed.has('progress') || !this.progress) return;
    const isNewLoad = changed.get('progress') === undefined;
    if (this.progress.warning) this._warning = this.progress.warning;
    else if (isNewLoad) this._warning = undefined;
  }

  readonly #handleDismiss = () => (this._warning = undefined);

  /** A way to the model that fits, where one is known. */
  #renderSmaller(model: string | undefined) {
    if (model === undefined) return nothing;
    return html`<button type="button" class="outline smaller" @click=${() => this.#handleSmaller(model)}>
      Use ${catalogEntry(model)?.title ?? model}
    </button>`;
  }

  #handleSmaller(model: string): void {
    this._warning = undefined;
    this.dispatchEvent(new TgModelEvent(model));
  }

  #renderWarning({ message, smallerModel }: LoadWarning) {
    return html`
      <div class="warning" part="warning" role="status">
        ${icons.warning}
        <p>${message}</p>
        <div class="choices">
          ${this.#renderSmaller(smallerModel)}
          <button type="button" class="outline dismiss" @click=${this.#handleDismiss}>Dismiss</button>
        </div>
      </div>
    `;
  }

  #renderProgress({ phase, label, loadedBytes, totalBytes, bytesPerSecond, secondsLeft }: LoadProgress) {
    const known = phase === 'download' && totalBytes !== undefined && totalBytes > 0;
    const percent = known ? Math.min(100, Math.round((loadedBytes / totalBytes) * 100)) : undefined;
    const bytes = known ? `${formatBytes(loadedBytes)} of ${formatBytes(totalBytes)}` : formatBytes(loadedBytes);
    const pace = [
      bytesPerSecond !== undefined && `${formatBytes(bytesPerSecond)}/s`,
      secondsLeft !== undefined && `${formatDuration(secondsLeft)} left`,
    ].filter((words) => words !== false);
    return html`
      <div class="words">
        <span class="label" id="label">${label}</span>
        ${phase === 'download' && loadedBytes > 0 ? html`<span class="figure bytes">${[bytes, ...pace].join(' · ')}</span>` : nothing}
      </div>
      <div
        class="bar ${percent === undefined ? 'unknown' : ''}"
        part="bar"
        role="progressbar"
        aria-labelledby="label"
        aria-valuemin="0"
        aria-valuemax="100"
        aria-valuenow=${percent ?? nothing}
        aria-valuetext=${known ? bytes : nothing}
      >
        <div style="inline-size: ${percent ?? 100}%"></div>
      </div>
    `;
  }

  protected override render() {
    if (this.error) return this.#renderError(this.error);
    const isLoading = this.progress && this.progress.phase !== 'ready';
    return [
      isLoading && this.progress ? this.#renderProgress(this.progress) : nothing,
      this._warning ? this.#renderWarning(this._warning) : nothing,
    ];
  }
}

/** What `model-too-large` names in its details. */
function smallerModelOf({ details }: TokenglassError): string | undefined {
  const { smallerModel } = details;
  return typeof smallerModel === 'string' ? smallerModel : undefined;
}

/** Seconds for people: below a minute whole seconds, else whole minutes. */
function formatDuration(seconds: number): string {
  return seconds < 60 ? `${Math.max(1, Math.ceil(seconds))} s` : `${Math.ceil(seconds / 60)} min`;
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-load': TgLoad;
  }
}

if (!customElements.get('tg-load')) customElements.define('tg-load', TgLoad);
