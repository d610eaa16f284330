import type { Report, Run } from './report.ts';
import { meetsSlo } from './slo.ts';
import { percentile } from '../metrics/percentile.ts';

type Cell = string | number | boolean | undefined;

/** Columns of the samples; rates of the machine are no property of a request and have no column. */
const COLUMNS: readonly (readonly [name: string, cell: (sample: Run['samples'][number], run: Run) => Cell])[] = [
  ['index', ({ index }) => index],
  ['stage', ({ warmUp, coolDown }) => (warmUp ? 'warm-up' : coolDown ? 'cool-down' : 'steady')],
  ['hidden', ({ hidden }) => hidden],
  ['conversation', ({ conversation }) => conversation],
  ['turn', ({ turn }) => turn],
  ['called_ms', ({ calledMs }) => calledMs],
  ['dispatch_delay_ms', ({ dispatchDelayMs }) => dispatchDelayMs],
  ['queue_ms', ({ ttftParts }) => ttftParts?.queueMs],
  ['prompt_tokens', ({ promptTokens }) => promptTokens],
  ['cached_tokens', ({ cachedTokens }) => cachedTokens],
  ['output_tokens', ({ outputTokens, text }) => (outputTokens === 0 && text !== '' ? undefined : outputTokens)],
  ['finish_reason', ({ finishReason }) => finishReason],
  ['ttft_ms', ({ ttftMs }) => ttftMs],
  ['tpot_ms', ({ tpotMs }) => tpotMs],
  ['itl_p50_ms', ({ itlMs }) => percentile(itlMs, 50)],
  ['itl_p95_ms', ({ itlMs }) => percentile(itlMs, 95)],
  ['itl_max_ms', ({ itlMs }) => percentile(itlMs, 100)],
  ['e2e_ms', ({ e2eMs }) => e2eMs],
  ['prefill_tok_s', ({ prefillTokensPerSecond }) => prefillTokensPerSecond],
  ['slo_met', (sample, { conditions }) => meetsSlo(sample, conditions.slo)],
];

/** One line per request of every run (RFC 4180), warm-up and cool-down included and named. An empty cell: not measured. */
export function reportCsv({ runs }: Pick<Report, 'runs'>): string {
  const lines = runs.flatMap((run, index) =>
    run.samples.map((sample) => [index, run.conditions.engine.name, ...COLUMNS.map(([, cell]) => cell(sample, run))]),
  );
  return [['run', 'engine', ...COLUMNS.map(([name]) => name)], ...lines]
    .map((cells) => `${cells.map(quote).join(',')}\r\n`)
    .join('');
}

function quote(cell: Cell): string {
  const text = cell === undefined ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
