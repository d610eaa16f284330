import { html, nothing, type TemplateResult } from 'lit';
import type { Comparison } from '../../src/runtime/bench/compare.ts';
import { headlineOf } from '../../src/runtime/bench/headline.ts';
import { noteSentences } from '../../src/runtime/bench/notes.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import {
  comparisonCells,
  machineSentences,
  reportCells,
  searchCells,
  searchSentence,
  sweepCells,
  sweepSentence,
  type Cells,
} from '../../src/runtime/bench/table.ts';

function cellTable({ head, rows }: Cells, caption: string): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table>
        <caption>
          ${caption}
        </caption>
        <thead>
          <tr>
            ${head.map((title) => html`<th scope="col">${title}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([name, ...cells]) => html`
              <tr>
                <th scope="row">${name}</th>
                ${cells.map((cell) => html`<td>${cell}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** What a sweep or a search found; empty for plain runs, whose header says it. */
export const findings = ({ sweeps = [], searches = [], runs }: Report): string[] => [
  ...sweeps.map((sweep) => sweepSentence(sweep, runs)),
  ...searches.map(searchSentence),
];

/** Runs that have a header of their own: of a sweep or search the tables say more. */
const MOST_HEADERS = 3;

/** What a reader in a hurry sees first, then what a reader in doubt needs. The charts have their own place. */
export function resultHead(report: Report): TemplateResult {
  const runs = report.sweeps || report.searches ? [] : report.runs.slice(0, MOST_HEADERS);
  return html`
    ${findings(report).map((sentence) => html`<p class="finding">${sentence}</p>`)}
    ${runs.map((run) => {
      const { figures, ranOn } = headlineOf(run, report);
      return html`
        <section class="run" aria-label=${`Result of ${run.conditions.engine.name}`}>
          <dl class="cards">
            ${figures.map(({ label, value, detail }) => {
              const [number, ...unit] = value.split(' ');
              return html`<div>
                <dt>${label}</dt>
                <dd><strong>${number}</strong> ${unit.join(' ')}</dd>
                <dd class="detail">${detail}</dd>
              </div>`;
            })}
          </dl>
          <p class="ran-on">${ranOn}</p>
        </section>
      `;
    })}
    ${notesOf(report)}
  `;
}

/** What a reader has to know before believing the figures. */
export function notesOf({ runs }: Report): TemplateResult | typeof nothing {
  const notes = noteSentences(runs);
  if (notes.length === 0) return nothing;
  return html`
    <section class="notes" aria-label="Before you believe it">
      <h3>Before you believe it</h3>
      <ul>
        ${notes.map((note) => html`<li>${note}</li>`)}
      </ul>
    </section>
  `;
}

export function resultTables(report: Report): TemplateResult {
  const { sweeps = [], searches = [], ratios = [], runs } = report;
  return html`
    ${sweeps.map((sweep) => cellTable(sweepCells(sweep, runs), 'The sweep, load by load'))}
    ${searches.map((search) => cellTable(searchCells(search), 'The search, rate by rate'))}
    ${cellTable(reportCells(report), 'Everything that was measured and declared')}
    ${
      ratios.length
        ? html`<ul class="ratios">
            ${ratios.map(({ of, to, figure, median, n }) => html`<li>${of} / ${to}, ${figure}: ${median.toFixed(2)} (median of ${n} pairs)</li>`)}
          </ul>`
        : nothing
    }
  `;
}

export function comparisonView(comparison: Comparison, onInsist: () => void): TemplateResult {
  const { refused, warnings, figures } = comparison;
  if (refused && figures.length === 0)
    return html`<p class="finding">${refused}</p>
      <button type="button" class="tool wide" @click=${onInsist}>Compare all the same</button>`;
  return html`
    ${cellTable(comparisonCells(comparison), 'Medians of the two runs, and whether they differ')}
    <ul class="ratios">
      ${machineSentences(comparison).map((sentence) => html`<li>${sentence}</li>`)}
    </ul>
    ${
      warnings.length
        ? html`<div class="notes">
            <h3>Before you believe it</h3>
            <ul>
              ${warnings.map((warning) => html`<li>${warning}</li>`)}
            </ul>
          </div>`
        : nothing
    }
  `;
}
