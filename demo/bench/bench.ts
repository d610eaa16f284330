import { html, nothing, render } from 'lit';
import { compareRuns } from '../../src/runtime/bench/compare.ts';
import { headlineOf } from '../../src/runtime/bench/headline.ts';
import { describeLengths } from '../../src/runtime/bench/load/lengths.ts';
import { describeArrivals } from '../../src/runtime/bench/load/arrivals.ts';
import { loadReport } from '../../src/runtime/bench/load-report.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import { wireTheme } from '../theme.ts';
import { reportCharts, runCharts, type ChartedRun } from './charts.ts';
import { EXPORTS, reportPng, saveReport } from './export.ts';
import { offerHeadless } from './headless.ts';
import { ReportHistory, type KeptReport } from './history.ts';
import { Lab, progressWords } from './lab.ts';
import { Plots } from './plot.ts';
import { comparisonView, resultHead, resultTables } from './results.ts';
import { setupForm } from './setup-form.ts';

function byId<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, id: string): HTMLElementTagNameMap[Tag] {
  const element = document.querySelector<HTMLElementTagNameMap[Tag]>(`${tag}#${id}`);
  if (!element) throw new TypeError(`Cannot start the page: it has no <${tag} id="${id}">`);
  return element;
}

/** The published JSON Schema, served beside the page. */
const SCHEMA_URL = new URL('../../docs/report.schema.json', import.meta.url).href;

const form = byId('form', 'setup');
const controls = byId('div', 'controls');
const status = byId('p', 'status');
const bar = byId('progress', 'progress');
const head = byId('div', 'head');
const tables = byId('div', 'tables');
const kept = byId('div', 'history');
const compared = byId('div', 'comparison');
const charts = byId('div', 'charts');

const plots = new Plots(charts);
const reports = new ReportHistory();
/** Reports that are ticked for a comparison, oldest tick first. */
let picked: string[] = [];
let insist = false;
let shown: Report | undefined;
let frame = 0;
let live: readonly ChartedRun[] | undefined;

const lab = new Lab(location.href, (runs) => {
  live = runs;
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
});

/** Once a frame at the most, however many requests end. */
function draw(): void {
  const { state } = lab;
  const running = state.phase === 'running';
  render(
    setupForm({
      setup: state.setup,
      running,
      onChange: (changes) => lab.change(changes),
      onFile: (name, file) => void lab.chooseFile(name, file),
    }),
    byId('div', 'fields'),
  );
  drawControls(running);
  drawProgress();
  if (live?.length) plots.show(runCharts(live));
  else if (state.report && state.report !== shown) plots.show(reportCharts(state.report));
  document.body.dataset['state'] = running ? 'running' : state.report ? 'result' : 'empty';
  if (running || state.report !== shown) {
    shown = running ? undefined : state.report;
    render(shown ? resultHead(shown) : nothing, head);
    render(shown ? resultTables(shown) : nothing, tables);
  }
  drawHistory(running);
}

function drawControls(running: boolean): void {
  const { report, paused } = lab.state;
  render(
    running
      ? html`
          <button type="button" class="tool wide" @click=${() => lab.togglePause()}>
            ${paused ? 'Go on' : 'Pause'}
          </button>
          <button type="button" class="tool wide" @click=${() => lab.cancel()}>Cancel</button>
        `
      : html`
          <button type="submit" class="primary" form="setup">Run</button>
          <button
            type="button"
            class="tool wide"
            @click=${(event: Event) => void copyLink(event.target as HTMLElement)}
          >
            Copy link
          </button>
          ${
            report
              ? html`<span class="exports" role="group" aria-label="Save the report">
                  Save as
                  ${EXPORTS.map(
                    (kind) =>
                      html`<button
                        type="button"
                        class="tool wide"
                        @click=${() => void saveReport(report, kind, charts)}
                      >
                        ${kind.toUpperCase()}
                      </button>`,
                  )}
                </span>`
              : nothing
          }
        `,
    controls,
  );
}

async function copyLink(button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(lab.address);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'It is in the address bar'; // the clipboard may be refused
  }
  setTimeout(() => (button.textContent = 'Copy link'), 2000);
}

function drawProgress(): void {
  const { state } = lab;
  const running = state.phase === 'running';
  const { text, share } = running ? progressWords(state) : { text: state.status };
  // Assistive technology is told of stages and ends, not of each second.
  status.setAttribute('role', running ? 'none' : 'status');
  status.textContent = text;
  status.classList.toggle('failed', state.failed);
  bar.hidden = !running;
  if (share === undefined) bar.removeAttribute('value');
  else bar.value = share;
}

const find = (id: string | undefined): KeptReport | undefined => reports.all.find((report) => report.id === id);

function drawHistory(running: boolean): void {
  picked = picked.filter((id) => find(id));
  const [first, second] = [find(picked[0]), find(picked[1])];
  render(
    html`
      <div class="history-head">
        <h2>History</h2>
        <label class="tool wide file">
          Open a report
          <input
            type="file"
            accept=".json,application/json"
            ?disabled=${running}
            @change=${(event: Event) => void openReport(event)}
          />
        </label>
      </div>
      ${
        reports.all.length
          ? html`<p class="hint">Kept on this device. Tick two to compare them.</p>
              <ul class="kept">
                ${reports.all.map((entry) => historyEntry(entry, running))}
              </ul>`
          : html`<p class="hint">What you run is kept here, on this device, to be looked at again and compared.</p>`
      }
      <p class="hint">
        Reports are <code>tokenglass.report/1</code>, which has a <a href=${SCHEMA_URL}>JSON Schema</a>.
      </p>
    `,
    kept,
  );
  render(
    first && second
      ? html`<h2>Comparison</h2>
          <p class="hint">First: ${entryName(first.report)}. Second: ${entryName(second.report)}.</p>
          ${comparisonView(
            compareRuns(
              { report: first.report, run: first.report.runs[0]! },
              { report: second.report, run: second.report.runs[0]! },
              { insist },
            ),
            () => {
              insist = true;
              draw();
            },
          )}`
      : nothing,
    compared,
  );
}

/** The name of a preset, or the lengths that there were instead. */
function describeWorkload({ runs }: Report): string {
  const { workload, promptLength, outputLength } = runs[0]!.conditions;
  return workload === 'custom' ? `${describeLengths(promptLength)} in, ${describeLengths(outputLength)} out` : workload;
}

const entryName = ({ createdAt, runs }: Report): string =>
  `${runs
    .map(({ conditions }) => conditions.engine.name)
    .filter((name, index, all) => all.indexOf(name) === index)
    .join(' and ')}, ${new Date(createdAt).toLocaleString()}`;

function historyEntry({ id, report }: KeptReport, running: boolean) {
  const run = report.runs[0]!;
  const { figures } = headlineOf(run, report);
  const pick = (event: Event): void => {
    const { checked } = event.target as HTMLInputElement;
    insist = false;
    picked = checked ? [...picked, id].slice(-2) : picked.filter((other) => other !== id);
    draw();
  };
  return html`
    <li>
      <input
        type="checkbox"
        aria-label=${`Compare ${entryName(report)}`}
        .checked=${picked.includes(id)}
        @change=${pick}
      />
      <div>
        <strong>${entryName(report)}</strong>
        <span
          >${describeWorkload(report)}; ${describeArrivals(run.conditions.arrivals)}; TTFT p95 ${figures[0]!.value}, ITL
          p95 ${figures[1]!.value}</span
        >
      </div>
      <button type="button" class="tool wide" ?disabled=${running} @click=${() => lab.show(report)}>Show</button>
      <button
        type="button"
        class="tool wide"
        aria-label=${`Delete ${entryName(report)}`}
        @click=${() => void reports.remove(id).then(draw)}
      >
        Delete
      </button>
    </li>
  `;
}

async function openReport(event: Event): Promise<void> {
  const input = event.target as HTMLInputElement;
  const file = input.files?.[0];
  input.value = '';
  if (!file) return;
  try {
    const report = loadReport(await file.text());
    await reports.add(report);
    lab.show(report);
  } catch (error) {
    lab.fail(error);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  // Where the form is above the results, the run would start out of sight.
  if (matchMedia('(width < 64rem)').matches) controls.scrollIntoView({ block: 'start' });
  void lab.run().then(async (report) => {
    if (!report) return;
    const refused = await reports.add(report);
    if (refused !== undefined) lab.state.status = `Done; the report could not be kept here (${refused}), save it`;
    draw();
  });
});

// Time left goes down between two requests as well.
setInterval(() => {
  if (lab.state.phase === 'running') drawProgress();
}, 500);

wireTheme(byId('button', 'theme'));
offerHeadless(async (report) => {
  const bytes = new Uint8Array(await (await reportPng(report, charts)).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
});
draw();
void reports.load().then(draw);
