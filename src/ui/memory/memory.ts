import { html, LitElement } from 'lit';
import { formatBytes, formatCount, formatShare } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { memoryStyles } from './memory.styles.ts';

/** Sizes of a model on its device, and how full its context is. */
export interface MemoryUse {
  weightBytes: number;
  kvBytesPerToken: number;
  /** Most tokens that the context can hold. */
  contextTokens: number;
  /** Tokens with KV now; absent before the first answer. */
  usedTokens?: number | undefined;
}

/**
 * Weights and KV on the device: what is taken, and how much a full context would take.
 *
 * @summary Memory of weights and KV
 * @csspart bar - The stacked bar
 */
export class TgMemory extends LitElement {
  static override styles = [tokens, controls, memoryStyles];
  static override properties = { use: { attribute: false } };

  /** Absent before a model is loaded. */
  declare use: MemoryUse | undefined;

  protected override render() {
    const { use } = this;
    if (!use) return html`<p class="none">No model is loaded yet.</p>`;
    const { weightBytes, kvBytesPerToken, contextTokens, usedTokens } = use;
    const kvBytes = usedTokens === undefined ? undefined : usedTokens * kvBytesPerToken;
    const fullBytes = contextTokens * kvBytesPerToken;
    const freeBytes = Math.max(0, fullBytes - (kvBytes ?? 0));
    return html`
      <div class="bar" part="bar" aria-hidden="true">
        <i class="weights" style="flex-grow: ${weightBytes}"></i>
        <i class="kv" style="flex-grow: ${kvBytes ?? 0}"></i>
        <i class="room" style="flex-grow: ${freeBytes}"></i>
      </div>
      <dl>
        <div>
          <dt><i class="weights" aria-hidden="true"></i>Weights</dt>
          <dd class="figure">${formatBytes(weightBytes)}</dd>
          <dd class="note">read once for each token</dd>
        </div>
        <div>
          <dt><i class="kv" aria-hidden="true"></i>KV in use</dt>
          <dd class="figure">${formatBytes(kvBytes)}</dd>
          <dd class="note">${formatCount(usedTokens)} tokens at ${formatBytes(kvBytesPerToken)} each</dd>
        </div>
        <div>
          <dt><i class="room" aria-hidden="true"></i>KV of a full context</dt>
          <dd class="figure">${formatBytes(fullBytes)}</dd>
          <dd class="note">
            ${formatCount(contextTokens)} tokens,
            ${formatShare(usedTokens === undefined ? undefined : usedTokens / contextTokens).value} % in use
          </dd>
        </div>
      </dl>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-memory': TgMemory;
  }
}

if (!customElements.get('tg-memory')) customElements.define('tg-memory', TgMemory);
