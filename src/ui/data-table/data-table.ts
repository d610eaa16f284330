import { html, LitElement, nothing } from 'lit';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import { dataTableStyles } from './data-table.styles.ts';

export interface DataTable {
  head: readonly string[];
  /** Asked for only while the table is open. */
  rows: () => readonly (readonly string[])[];
}

/**
 * The figures of a chart as a table that opens on request; nothing is computed or drawn while it is closed.
 *
 * @summary Table alternative of a chart
 */
export class TgDataTable extends LitElement {
  static override styles = [tokens, controls, dataTableStyles];
  static override properties = {
    table: { attribute: false },
    label: { type: String },
    open: { type: Boolean, reflect: true },
  };

  /** What the chart draws, as rows; absent while there is nothing. */
  declare table: DataTable | undefined;
  /** Names the table to those who do not see the chart. @default 'Figures of the chart' */
  declare label: string;
  /** The table is shown. @default false */
  declare open: boolean;

  constructor() {
    super();
    this.label = 'Figures of the chart';
    this.open = false;
  }

  readonly #handleToggle = (event: Event): void => {
    this.open = (event.target as HTMLDetailsElement).open;
  };

  protected override render() {
    const { table, open } = this;
    if (!table) return nothing;
    return html`
      <details ?open=${open} @toggle=${this.#handleToggle}>
        <summary>As a table</summary>
        ${
          open
            ? html`<div class="scroll" role="region" aria-label=${this.label} tabindex="0">
                <table>
                  <thead>
                    <tr>
                      ${table.head.map((name) => html`<th scope="col">${name}</th>`)}
                    </tr>
                  </thead>
                  <tbody>
                    ${table.rows().map(
                      (row) =>
                        html`<tr>
                          ${row.map((cell) => html`<td>${cell}</td>`)}
                        </tr>`,
                    )}
                  </tbody>
                </table>
              </div>`
            : nothing
        }
      </details>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-data-table': TgDataTable;
  }
}

if (!customElements.get('tg-data-table')) customElements.define('tg-data-table', TgDataTable);
