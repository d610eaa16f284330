import { html, LitElement } from 'lit';
import { formatBytes, formatCount, formatShare } from '../internal/format.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { memoryStyles } from './memory.styles.ts';

/** Sizes of a model on its device, and how full its context is. */
export interface MemoryUse {
  /** Absent where the engine does not know it; likewise below. */
  weightBytes: number | undefined;
  kvBytesPerToken: number | undefined;
  /** Most tokens that the context can hold. */
  contextTokens: number | undefined;
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
    const kvBytes = product(usedTokens, kvBytesPerToken);
    const fullBytes = product(contextTokens, kvBytesPerToken);
    const freeBytes = Math.max(0, (fullBytes ?? 0) - (kvBytes ?? 0));
    const used = usedTokens === undefined || !contextTokens ? undefined : usedTokens / contextTokens;
    return html`
      <div class="bar" part="bar" aria-hidden="true">
        <i class="weights" style="flex-grow: ${weightBytes ?? 0}"></i>
        <i class="kv" style="flex-grow: ${kvBytes ?? 0}"></i>
        <i class="room" style="flex-grow: ${freeBytes}"></i>
      </div>
      <dl>
        <div>
          <dt><i class="weights" aria-hidden="true"></i>Weights</dt>
          <dd class="figure">${formatBytes(weightBytes)}</dd>
          <dd class="note">read once in each step</dd>
        </div>
        <div>
          <dt><i class="kv" aria-hidden="true"></i>KV in use</dt>
          <dd class="figure">${formatBytes(kvBytes)}</dd>
          <dd class="note">${formatCount(usedTokens)} tokens at ${formatBytes(kvBytesPerToken)} each</dd>
        </div>
        <div>
          <dt><i class="room" aria-hidden="true"></i>KV of a full context</dt>
          <dd class="figure">${formatBytes(fullBytes)}</dd>
          <dd class="note">${formatCount(contextTokens)} tokens, ${formatShare(used).value} % in use</dd>
        </div>
      </dl>
    `;
  }
}

const product = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a * b;

declare global {
  interface HTMLElementTagNameMap {
    'tg-memory': TgMemory;
  }
}

if (!customElements.get('tg-memory')) customElements.define('tg-memory', TgMemory);
