import type { Summary } from '../metrics/summary.ts';
import type { Report, Run } from './report.ts';

const ABSENT = '–';

const number = (value: number | undefined, digits = 1): string =>
  value === undefined ? ABSENT : value.toFixed(digits);
const percentiles = (summary: Summary | undefined, digits = 1): string =>
  summary
    ? `${number(summary.p50, digits)} / ${number(summary.p95, digits)} / ${number(summary.p99, digits)}  n=${summary.n}`
    : ABSENT;
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** What a row of the table says of a run; one column per run. */
const ROWS: readonly (readonly [name: string, cell: (run: Run) => string])[] = [
  ['engine', ({ conditions: { engine } }) => `${engine.name} ${engine.version}`],
  [
    'model',
    ({ conditions: { model } }) => `${model.id} ${model.quantization}, ${(model.weightBytes / 1e6).toFixed(1)} MB`,
  ],
  ['adapter', ({ conditions }) => adapterOf(conditions)],
  ['prompt / output tokens', ({ conditions: c }) => `${c.promptLength.tokens} / ${c.outputLength.tokens}`],
  ['TTFT ms p50 / p95 / p99', ({ figures }) => percentiles(figures.ttftMs)],
  ['ITL ms p50 / p95 / p99', ({ figures }) => percentiles(figures.itlMs, 2)],
  ['TPOT ms p50 / p95 / p99', ({ figures }) => percentiles(figures.tpotMs, 2)],
  ['E2E ms p50 / p95 / p99', ({ figures }) => percentiles(figures.e2eMs)],
  ['prefill tok/s p50 / p95 / p99', ({ figures }) => percentiles(figures.prefillTokensPerSecond)],
  ['one user tok/s p50 / p95 / p99', ({ figures }) => percentiles(figures.userTokensPerSecond)],
  [
    'machine tok/s, peak',
    ({ figures: f }) => `${number(f.systemTokensPerSecond)}, ${number(f.peakSystemTokensPerSecond)}`,
  ],
  [
    'goodput at SLO',
    ({ figures, conditions }) =>
      `${conditions.slo.name}: ${number(figures.goodput.requestsPerSecond, 2)} req/s, ${percent(figures.goodput.share)} good`,
  ],
  [
    'prefix cache hits',
    ({ figures, conditions }) => (conditions.prefixCache.enabled ? percent(figures.prefixCacheHitRate) : 'off'),
  ],
  ['completed / failed', ({ requests }) => `${requests.completed} / ${requests.failed}`],
];

function adapterOf({ adapter, engine }: Run['conditions']): string {
  if (!adapter) return `CPU, ${engine.threads ?? 1} threads`;
  const name = [adapter.vendor, adapter.architecture].filter(Boolean).join(' ') || adapter.description || 'unnamed';
  return adapter.isFallback ? `${name} (software)` : name;
}

/** The report as a GitHub-flavoured Markdown table, which also reads well in a terminal. */
export function reportTable(report: Report): string {
  const { runs, environment: environment, ratios } = report;
  const calls = [...new Set(runs.flatMap(({ gpuCallsPerToken }) => Object.keys(gpuCallsPerToken ?? {})))];
  const rows = [
    ...ROWS.map(([name, cell]) => [name, ...runs.map(cell)]),
    ...calls.map((name) => [
      `${name} per token`,
      ...runs.map(({ gpuCallsPerToken }) => number((gpuCallsPerToken as Record<string, number> | undefined)?.[name])),
    ]),
  ];
  const lines = markdownTable(['', ...runs.map(({ conditions }) => conditions.engine.name)], rows);
  for (const { of, to, figure, median, n } of ratios ?? [])
    lines.push(`${of} / ${to}, ${figure}: ${median.toFixed(2)} (median of ${n} pairs)`);
  lines.push(
    `${environment.browser}, ${environment.os}, ${environment.cpuThreads} CPU threads; tokenglass ${report.tokenglass}, ${report.createdAt}`,
  );
  return lines.join('\n');
}

function markdownTable(head: string[], rows: string[][]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length), 3));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
