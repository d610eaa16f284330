import { html, nothing, type TemplateResult } from 'lit';
import {
  comparability,
  comparabilityLines,
  type Comparability,
  type ComparedName,
} from '../../src/runtime/bench/comparable.ts';
import { compareRuns, type ComparedFigure } from '../../src/runtime/bench/compare.ts';
import { formatNumber } from '../../src/runtime/bench/headline.ts';
import type { Ratio, Report, Run } from '../../src/runtime/bench/report.ts';
import type { Summary } from '../../src/runtime/metrics/index.ts';
import { notesOf } from '../bench/results.ts';
import { LETTERS } from './columns-view.ts';
import { conclusions } from './conclusions.ts';
import type { Lane } from './lane.ts';
import type { RaceOutcome } from './race-session.ts';

/** A column of the table. `paired`: its name among ratios of pairs; `compared`: among medians of runs. */
interface Column {
  name: ComparedName;
  title: string;
  unit: string;
  of: (run: Run) => Summary | undefined;
  paired?: Ratio['figure'];
  compared: ComparedFigure['name'];
  /** The ratio of this is one over that of the figure it comes from. */
  inverse?: boolean;
}

const COLUMNS: readonly Column[] = [
  {
    name: 'TTFT',
    title: 'First token',
    unit: 'ms',
    of: ({ figures }) => figures.ttftMs,
    paired: 'ttftMs',
    compared: 'TTFT',
  },
  {
    name: 'ms/token',
    title: 'Each token',
    unit: 'TPOT, ms/token',
    of: ({ figures }) => figures.tpotMs,
    paired: 'tpotMs',
    compared: 'TPOT',
  },
  {
    name: 'tok/s',
    title: 'Writes',
    unit: 'tok/s',
    of: ({ figures }) => figures.userTokensPerSecond,
    paired: 'tpotMs',
    compared: 'TPOT',
    inverse: true,
  },
  {
    name: 'prefill',
    title: 'Reads the prompt',
    unit: 'tok/s',
    of: ({ figures }) => figures.prefillTokensPerSecond,
    paired: 'prefillTokensPerSecond',
    compared: 'prefill',
  },
  { name: 'E2E', title: 'Whole answer', unit: 'ms', of: ({ figures }) => figures.e2eMs, compared: 'E2E' },
];

/** What came of a race: in a sentence, in a table, and what of it can be compared. */
export function resultsView({ report, order, cancelled }: RaceOutcome, lanes: readonly Lane[]): TemplateResult {
  const [first, ...others] = report.runs;
  const judged = others.flatMap((run) => comparability(first!, run) ?? []);
  return html`
    <div class="findings">
      ${conclusions(report).map(({ about, sentences }) => html`<p>${others.length > 1 ? html`<small>${about}</small>` : nothing} ${sentences.join(' ')}</p>`)}
    </div>
    <div class="scroll" tabindex="0" role="region" aria-label="Figures of the race">
      <table>
        <caption>
          Medians of ${first!.requests.completed} rounds${cancelled ? ', cut short' : ''}
          <small
            >p95 and n below. Ratios are to
            ${first!.conditions.engine.name}${order === 'turns' ? ', pair by pair of rounds' : ''}.</small
          >
        </caption>
        <thead>
          <tr>
            <th scope="col">Contender</th>
            ${COLUMNS.map(({ title, unit }) => html`<th scope="col">${title} <small>${unit}</small></th>`)}
            <th scope="col">Load <small>s</small></th>
            <th scope="col">Cold first token <small>ms, left out</small></th>
          </tr>
        </thead>
        <tbody>
          ${lanes.map((lane, place) => {
            const run = report.runs.find(({ conditions }) => conditions.engine.name === lane.name);
            if (run)
              return row(
                report,
                run,
                judged.find(({ b }) => b === lane.name),
                lane,
                place,
              );
            return lane.error ? failedRow(lane, place) : nothing;
          })}
        </tbody>
      </table>
    </div>
    ${comparabilityView(judged)} ${notesOf(report)}
  `;
}

function row(report: Report, run: Run, judged: Comparability | undefined, lane: Lane, place: number): TemplateResult {
  return html`
    <tr style="--racer: var(--racer-${place + 1})">
      ${nameCell(lane.name, place)}
      ${COLUMNS.map(
        (column) => html`
          <td>
            ${figureCell(column.of(run))} ${barOf(report, run, column)}
            ${judged ? ratioCell(report, run, column, judged) : html`<span class="ratio"><small>reference</small></span>`}
          </td>
        `,
      )}
      <td>${lane.loadMs === undefined ? '–' : html`<b>${formatNumber(lane.loadMs / 1000)}</b>`}</td>
      <td>${lane.cold?.ttftMs === undefined ? '–' : html`<b>${formatNumber(lane.cold.ttftMs)}</b>`}</td>
    </tr>
  `;
}

const nameCell = (name: string, place: number): TemplateResult =>
  html`<th scope="row"><span class="letter" aria-hidden="true">${LETTERS[place]}</span> ${name}</th>`;

const failedRow = ({ name, error }: Lane, place: number): TemplateResult => html`
  <tr style="--racer: var(--racer-${place + 1})">
    ${nameCell(name, place)}
    <td colspan=${COLUMNS.length + 2}>out of the race: <code>${error!.code}</code></td>
  </tr>
`;

/** The median as a length, beside those of the others. */
function barOf({ runs }: Report, run: Run, { of }: Column): TemplateResult | typeof nothing {
  const value = of(run)?.p50;
  const most = Math.max(...runs.map((other) => of(other)?.p50 ?? 0));
  if (value === undefined || most <= 0) return nothing;
  return html`<span class="length" aria-hidden="true"><i style="inline-size: ${(value / most) * 100}%"></i></span>`;
}

const figureCell = (summary: Summary | undefined): TemplateResult | string =>
  summary?.p50 === undefined
    ? '–'
    : html`<b>${formatNumber(summary.p50)}</b> <small>p95 ${formatNumber(summary.p95)}, n=${summary.n}</small>`;

/** Pair by pair where the rounds took turns, else of the medians, with its interval. */
function ratioCell(report: Report, run: Run, column: Column, judged: Comparability): TemplateResult | typeof nothing {
  const verdict = judged.verdicts[column.name];
  const base = report.runs[0]!;
  const pair = report.ratios?.find(({ of, figure }) => of === run.conditions.engine.name && figure === column.paired);
  const medians = compareRuns({ report, run: base }, { report, run }).figures.find(
    ({ name }) => name === column.compared,
  );
  const value = pair?.median ?? medians?.ratio.value;
  if (value === undefined) return nothing;
  const [ratio, of] = [column.inverse ? 1 / value : value, pair ? `${pair.n} pairs` : 'medians'];
  const words = { yes: '', 'with-care': 'with care', no: 'not comparable' }[verdict];
  return html`<span class="ratio ${verdict}"
    ><span class="times">× ${ratio.toFixed(2)}</span> <small>${words || of}</small></span
  >`;
}

function comparabilityView(judged: readonly Comparability[]): TemplateResult {
  return html`
    <section class="comparable" aria-label="What can be compared">
      <h2>What can be compared</h2>
      ${judged.map((one) => {
        const [head, ...lines] = comparabilityLines(one);
        const marks = one.caveats.map(({ verdict }) => verdict);
        return html`
          <h3>${head}</h3>
          <ul>
            ${lines.map((line, index) => html`<li class=${marks[index] ?? 'remark'}>${line}</li>`)}
          </ul>
        `;
      })}
    </section>
  `;
}
