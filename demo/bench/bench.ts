import type { EngineName } from '../../src/index.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import { CHAT_SLO, type Workload } from '../../src/runtime/bench/runner.ts';
import { reportTable } from '../../src/runtime/bench/table.ts';
import { runBench, type BenchOptions } from './run-bench.ts';
import { runScenario } from './run-scenario.ts';

declare global {
  interface Window {
    /** What the command line calls: runs, and gives the report and its table. */
    tokenglassBench: (
      options: BenchOptions,
      onSample?: (done: number, of: number) => void,
    ) => Promise<{ report: Report; table: string }>;
    /** What the command line calls for `--scenario`. */
    tokenglassScenario: typeof runScenario;
  }
}

window.tokenglassScenario = runScenario;

window.tokenglassBench = async (options, onSample) => {
  const report = await runBench(options, onSample ? { onSample } : {});
  return { report, table: reportTable(report) };
};

function byId<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, id: string): HTMLElementTagNameMap[Tag] {
  const element = document.querySelector<HTMLElementTagNameMap[Tag]>(`${tag}#${id}`);
  if (!element) throw new TypeError(`Cannot start the page: it has no <${tag} id="${id}">`);
  return element;
}

const form = byId('form', 'setup');
const status = byId('p', 'status');
const progress = byId('progress', 'progress');
const table = byId('pre', 'table');
const runButton = byId('button', 'run');
const download = byId('button', 'download');
let latest: Report | undefined;

function readWorkload(data: FormData): Workload {
  const numberOf = (name: string): number => Number(data.get(name));
  return {
    promptTokens: numberOf('promptTokens'),
    outputTokens: numberOf('outputTokens'),
    requests: numberOf('requests'),
    warmUpRequests: numberOf('warmUpRequests'),
    temperature: 0,
    seed: 1,
    raw: false,
    slo: CHAT_SLO,
  };
}

async function run(): Promise<void> {
  const data = new FormData(form);
  const engines = data.getAll('engine') as EngineName[];
  if (engines.length === 0) {
    status.textContent = 'Cannot run: no engine is chosen; choose at least one.';
    return;
  }
  runButton.disabled = true;
  progress.hidden = false;
  progress.value = 0;
  status.textContent = 'Loading the engines …';
  try {
    latest = await runBench(
      { engines, model: 'tutor', workload: readWorkload(data) },
      {
        onSample: (done, of) => {
          progress.value = done / of;
          status.textContent = `${done} of ${of} requests`;
        },
      },
    );
    table.textContent = reportTable(latest);
    table.parentElement!.hidden = download.hidden = false;
    status.textContent = 'Done.';
  } catch (error) {
    status.textContent = error instanceof Error ? error.message : String(error);
  } finally {
    runButton.disabled = false;
    progress.hidden = true;
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void run();
});

download.addEventListener('click', () => {
  if (!latest) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(latest, null, 2)], { type: 'application/json' }));
  link.download = `tokenglass-report-${latest.createdAt.replaceAll(':', '-')}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
});
