import { html, LitElement, nothing, type PropertyValues } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import type { PrefixCacheStats } from '../../shared/prefix-cache.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { CATALOG, type CatalogEntry } from '../../runtime/models/catalog-entries.ts';
import type { ModelStore, StoredModelInfo, StoreUsage } from '../../runtime/models/store/model-store.ts';
import { TgModelEvent } from '../events/model-event.ts';
import { formatAgo, formatBytes, formatParameters, formatShare } from '../internal/format.ts';
import { icons } from '../internal/icons.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { bytesOf, modelRows, type ModelRow } from './model-rows.ts';
import { modelsStyles } from './models.styles.ts';

/** What is kept on this device, as of the last look. */
interface Kept {
  models: readonly StoredModelInfo[];
  usage: StoreUsage;
  prefixCache?: PrefixCacheStats;
}

/** The store of the page, opened only once an element is shown. */
const openByDefault = async (): Promise<ModelStore | undefined> => {
  const { createModelStore, hasIndexedDb } = await import('../../runtime/models/store/model-store.ts');
  return hasIndexedDb() ? createModelStore() : undefined;
};

/**
 * Models to choose from, and what of them is kept on this device: size, last use, and a way to delete it; below, the KV that is kept of
 * earlier prompts. It loads nothing: the page does, when told which model is wanted.
 *
 * @summary Choose a model; see and delete what is stored
 * @event tg-model - The user wants this model (`event.model`)
 * @csspart row - A model
 * @csspart space - What is used and free
 *
 * @example
 * ```ts
 * element.engine = engine;
 * element.addEventListener('tg-model', ({ model }) => load(model));
 * ```
 */
export class TgModels extends LitElement {
  static override styles = [tokens, controls, modelsStyles];
  static override properties = {
    engine: { attribute: false },
    current: { type: String },
    catalog: { attribute: false },
    store: { attribute: false },
    kept: { state: true },
    fault: { state: true },
    asked: { state: true },
    announcement: { state: true },
  };

  /** Whose prefix cache is shown. */
  declare engine: Engine | undefined;
  /** The model that is loaded, as `createEngine` was given it. @default '' */
  declare current: string;
  /** Models to choose from. @default those of this package */
  declare catalog: readonly CatalogEntry[];
  /** Where models are kept. @default the store that `createEngine` keeps models in */
  declare store: ModelStore | undefined;
  declare private kept: Kept | undefined;
  declare private fault: string | undefined;
  /** Which model's deletion has been asked for once; it happens when it is asked for again. */
  declare private asked: string | undefined;
  declare private announcement: string;
  #opened: Promise<ModelStore | undefined> | undefined;

  constructor() {
    super();
    this.current = '';
    this.catalog = CATALOG;
    this.announcement = '';
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    void this.#opened?.then((store) => store?.close()).catch(() => undefined);
    this.#opened = undefined;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('engine') || changed.has('store') || !this.hasUpdated) void this.refresh();
  }

  /** Looks again at what is stored. */
  async refresh(): Promise<void> {
    try {
      const store = await this.#store();
      const [models, usage, prefixCache] = await Promise.all([
        store?.list() ?? [],
        store?.usage() ?? { storedBytes: 0 },
        // An engine that is just being disposed of has no figures, which is no fault of the store.
        this.engine?.prefixCache?.stats().catch(() => undefined),
      ]);
      this.kept = { models, usage, ...(prefixCache && { prefixCache }) };
      this.fault = undefined;
    } catch (error) {
      this.fault = `What is stored cannot be read (${error instanceof Error ? error.message : String(error)}).`;
    }
  }

  #store(): Promise<ModelStore | undefined> {
    if (this.store) return Promise.resolve(this.store);
    this.#opened ??= openByDefault();
    return this.#opened;
  }

  async #delete({ model, title, stored }: ModelRow): Promise<void> {
    if (this.asked !== model) {
      this.asked = model;
      this.announcement = `Press again to delete ${title} from this device`;
      return;
    }
    this.asked = undefined;
    const store = await this.#store();
    let freed = 0;
    for (const { id } of stored) freed += (await store?.delete(id)) ?? 0;
    this.announcement = `${title} deleted, ${formatBytes(freed)} freed`;
    await this.refresh();
    // The button that was pressed is gone.
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>('h3')?.focus();
  }

  async #clearCache(): Promise<void> {
    await this.engine?.prefixCache?.clear();
    this.announcement = 'Kept prompts cleared';
    await this.refresh();
  }

  #renderRow(row: ModelRow) {
    const { entry, stored, model, title } = row;
    const isCurrent = model === this.current;
    const bytes = bytesOf(stored);
    return html`
      <li class="row" part="row">
        <span class="name">
          <b>${title}</b>
          ${isCurrent ? html`<span class="badge">${icons.done} in use</span>` : nothing}
        </span>
        <span class="about">${[entry && aboutEntry(entry), aboutStored(row)].filter(Boolean).join(' · ')}</span>
        <span class="acts">
          ${
            bytes > 0
              ? html`<button
                  type="button"
                  class="quiet delete"
                  aria-label=${this.asked === model ? `Delete ${title}: sure?` : `Delete ${title}`}
                  @click=${() => void this.#delete(row)}
                  @blur=${() => (this.asked = undefined)}
                >
                  ${this.asked === model ? `Delete ${formatBytes(bytes)}?` : 'Delete'}
                </button>`
              : nothing
          }
          ${
            isCurrent
              ? nothing
              : html`<button
                  type="button"
                  class="outline use"
                  aria-label=${`Use ${title}`}
                  @click=${() => this.dispatchEvent(new TgModelEvent(model))}
                >
                  Use
                </button>`
          }
        </span>
      </li>
    `;
  }

  #renderCache({ memory, stored, bytesPerToken, hitRate }: PrefixCacheStats) {
    const facts = [
      `${formatBytes(memory.bytes)} in memory`,
      stored && `${formatBytes(stored.bytes)} stored`,
      `${formatBytes(bytesPerToken)} a token`,
      hitRate !== undefined && `${formatShare(hitRate).value} % of prompt tokens found again`,
    ];
    return html`
      <div class="cache">
        <div>
          <h3>Kept prompts and answers</h3>
          <p>${facts.filter(Boolean).join(' · ')}</p>
        </div>
        <button type="button" class="quiet clear" @click=${() => void this.#clearCache()}>Clear</button>
      </div>
    `;
  }

  protected override render() {
    const { kept } = this;
    const free = kept?.usage.availableBytes;
    return html`
      <h3 class="sr-only" tabindex="-1">Models</h3>
      <ul>
        ${repeat(
          modelRows(this.catalog, kept?.models ?? []),
          ({ model }) => model,
          (row) => this.#renderRow(row),
        )}
      </ul>
      ${this.fault === undefined ? nothing : html`<p class="fault">${icons.warning} ${this.fault}</p>`}
      ${
        kept
          ? html`<p class="space figure" part="space">
              ${formatBytes(kept.usage.storedBytes)} of models on this device${free === undefined ? '' : `, ${formatBytes(free)} free`}
            </p>`
          : nothing
      }
      ${kept?.prefixCache ? this.#renderCache(kept.prefixCache) : nothing}
      <div class="sr-only" role="status" aria-live="polite">${this.announcement}</div>
    `;
  }
}

function aboutEntry({ parameters, downloadBytes, hub }: CatalogEntry): string {
  if (!hub) return `${formatParameters(parameters)} parameters · built in, ${formatBytes(downloadBytes)}`;
  return `${formatParameters(parameters)} parameters · ${hub.gguf.isApproximate ? 'about ' : ''}${formatBytes(downloadBytes)}`;
}

function aboutStored({ stored }: ModelRow): string {
  if (stored.length === 0) return '';
  const bytes = formatBytes(bytesOf(stored));
  const lastMs = Math.max(...stored.map(({ lastUsedAtMs }) => lastUsedAtMs));
  const isWhole = stored.every(({ isComplete }) => isComplete);
  return `${isWhole ? 'on this device' : 'in part on this device'}, ${bytes}, used ${formatAgo(Date.now() - lastMs)}`;
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-models': TgModels;
  }
}

if (!customElements.get('tg-models')) customElements.define('tg-models', TgModels);
