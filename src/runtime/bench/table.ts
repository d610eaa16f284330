import type { Summary } from '../metrics/summary.ts';
import { comparabilityOfRuns } from './comparable.ts';
import type { Comparison } from './compare.ts';
import { describeMachine, describeModel, formatNumber, headlineOf, headlineText } from './headline.ts';
import { describeArrivals } from './load/arrivals.ts';
import { noteSentences } from './notes.ts';
import { describeLengths } from './load/lengths.ts';
import type { CapacitySearch, Report, Run, Sweep } from './report.ts';
import { describeSlo, SLO_LIMITS } from './slo.ts';

const ABSENT = '–';

const number = (value: number | undefined, digits = 1): string =>
  value === undefined ? ABSENT : value.toFixed(digits);
const percentiles = (summary: Summary | undefined, digits = 1): string =>
  summary?.n
    ? `${number(summary.p50, digits)} / ${number(summary.p95, digits)} / ${number(summary.p99, digits)}  n=${summary.n}`
    : ABSENT;
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** What a row of the table says of a run; one column per run. */
const ROWS: readonly (readonly [name: string, cell: (run: Run) => string])[] = [
  ['engine', ({ conditions: { engine } }) => `${engine.name} ${engine.version}`],
  ['model', ({ conditions: { model } }) => describeModel(model)],
  ['adapter', ({ conditions }) => describeMachine(conditions)],
  [
    'prompt / output tokens',
    ({ conditions: c }) => `${describeLengths(c.promptLength)} / ${describeLengths(c.outputLength)}`,
  ],
  ['arrivals', ({ conditions: c }) => describeArrivals(c.arrivals)],
  ['TTFT ms p50 / p95 / p99', ({ figures }) => percentiles(figures.ttftMs)],
  ['ITL ms p50 / p95 / p99', ({ figures }) => percentiles(figures.itlMs, 2)],
  ['TPOT ms p50 / p95 / p99', ({ figures }) => percentiles(figures.tpotMs, 2)],
  ['E2E ms p50 / p95 / p99', ({ figures }) => percentiles(figures.e2eMs)],
  ['waited ms p50 / p95 / p99', ({ figures }) => percentiles(figures.queueMs)],
  ['sent late ms p50 / p95 / p99', ({ figures }) => percentiles(figures.dispatchDelayMs)],
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
  ['met each limit', ({ figures, conditions }) => limitShares(figures.goodput.shares, conditions.slo)],
  [
    'prefix cache hits',
    ({ figures, conditions }) => (conditions.prefixCache.enabled ? percent(figures.prefixCacheHitRate) : 'off'),
  ],
  [
    'drafts accepted',
    ({ figures: { draftAcceptance }, conditions }) => {
      if (!conditions.speculative.enabled) return 'off';
      return draftAcceptance === undefined ? 'none drafted' : percent(draftAcceptance);
    },
  ],
  ['warm-up / cool-down', ({ conditions: c }) => `${c.warmUpRequests} requests / ${number(c.coolDownMs / 1000)} s`],
  ['measured for', ({ durationMs }) => `${number(durationMs / 1000)} s`],
  ['completed / failed', ({ requests }) => `${requests.completed} / ${requests.failed}`],
];

function limitShares(shares: Run['figures']['goodput']['shares'], slo: Run['conditions']['slo']): string {
  return SLO_LIMITS.flatMap(([limit, name]) =>
    shares[limit] === undefined ? [] : [`${name} ${slo[limit]} ms: ${percent(shares[limit])}`],
  ).join(', ');
}

/** A table as cells: a head, and rows that begin with their names. */
export interface Cells {
  head: string[];
  rows: string[][];
}

/** What is said of each run, one column per run; rows of which no run has anything are left out. */
export function reportCells({ runs }: Pick<Report, 'runs'>): Cells {
  const calls = [...new Set(runs.flatMap(({ gpuCallsPerToken }) => Object.keys(gpuCallsPerToken ?? {})))];
  const rows = [
    ...ROWS.map(([name, cell]) => [name, ...runs.map(cell)]),
    ...calls.map((name) => [
      `${name} per token`,
      ...runs.map(({ gpuCallsPerToken }) => number((gpuCallsPerToken as Record<string, number> | undefined)?.[name])),
    ]),
  ];
  return {
    head: ['', ...runs.map(({ conditions }) => conditions.engine.name)],
    rows: rows.filter(([, ...cells]) => cells.some((cell) => cell !== ABSENT)),
  };
}

/** The report as a GitHub-flavoured Markdown table, which also reads well in a terminal. */
export function reportTable(report: Report): string {
  const { runs, environment, ratios, sweeps = [], searches = [] } = report;
  const lines = markdownTable(reportCells(report));
  for (const { of, to, figure, median, n } of ratios ?? [])
    lines.push(`${of} / ${to}, ${figure}: ${median.toFixed(2)} (median of ${n} pairs)`);
  if (ratios?.length) lines.push('', ...comparabilityOfRuns(runs).map((line) => `- ${line}`));
  for (const sweep of sweeps) lines.push('', sweepSentence(sweep, runs), ...markdownTable(sweepCells(sweep, runs)));
  for (const search of searches) lines.push('', searchSentence(search), ...markdownTable(searchCells(search)));
  const notes = noteSentences(runs);
  if (notes.length) lines.push('', ...notes.map((message) => `- ${message}`), '');
  lines.push(
    `${environment.browser}, ${environment.os}, ${environment.cpuThreads} CPU threads; tokenglass ${report.tokenglass}, ${report.createdAt}`,
  );
  return lines.join('\n');
}

/** The curve of a sweep; the machine's rate and one user's have columns of their own. */
export function sweepCells({ over, points, knee, engine }: Sweep, runs: readonly Run[]): Cells {
  const unit = over === 'users' ? 'users' : 'req/s';
  const rows = points.map(({ value, run }) => {
    const { figures } = runs[run]!;
    return [
      `${value}${value === knee ? ' (knee)' : ''}`,
      percentiles(figures.ttftMs),
      percentiles(figures.itlMs, 2),
      percentiles(figures.userTokensPerSecond),
      number(figures.systemTokensPerSecond),
      number(figures.goodput.requestsPerSecond, 2),
    ];
  });
  const head = [
    `${engine}, ${unit}`,
    'TTFT ms p50 / p95 / p99',
    'ITL ms p50 / p95 / p99',
    'one user tok/s p50 / p95 / p99',
    'machine tok/s',
    'goodput req/s',
  ];
  return { head, rows };
}

export function sweepSentence({ engine, over, points, knee }: Sweep, runs: readonly Run[]): string {
  const unit = over === 'users' ? 'users' : 'req/s';
  const point = points.find(({ value }) => value === knee);
  if (!point) return `${engine}: too few loads to say where the knee is.`;
  const { systemTokensPerSecond, e2eMs } = runs[point.run]!.figures;
  const at =
    point === points.at(-1)
      ? 'at the greatest load that was tried'
      : point === points[0]
        ? 'at the least load that was tried'
        : 'in between';
  return `${engine}: the most throughput per latency is at ${point.value} ${point.value === 1 && over === 'users' ? 'user' : unit} (${formatNumber(systemTokensPerSecond)} tok/s of the machine, E2E p95 ${formatNumber(e2eMs?.p95)} ms), ${at}.`;
}

export function searchSentence({ engine, slo, neededShare, tolerance, ratePerSecond }: CapacitySearch): string {
  const kept = `${describeSlo(slo)} for ${percent(neededShare)} of the requests`;
  return ratePerSecond === undefined
    ? `${engine}: no rate that was tried keeps ${kept}.`
    : `${engine}: ${formatNumber(ratePerSecond)} req/s is the highest rate that keeps ${kept} (to ${percent(tolerance)}).`;
}

export const searchCells = ({ probes }: CapacitySearch): Cells => ({
  head: ['req/s', 'met the SLO', ''],
  rows: probes.map(({ ratePerSecond, share, kept }) => [
    formatNumber(ratePerSecond),
    percent(share),
    kept ? 'kept' : 'missed',
  ]),
});

/** Medians of two runs with their 95 % intervals, and the ratios. */
export const comparisonCells = ({ figures }: Comparison): Cells => ({
  head: ['median (95 % interval)', 'first', 'second', 'second / first', ''],
  rows: figures.map(({ name, unit, a, b, ratio, n, verdict }) => [
    `${name} ${unit}`,
    `${interval(a)} n=${n[0]}`,
    `${interval(b)} n=${n[1]}`,
    interval(ratio),
    verdict,
  ]),
});

/** The machine's rates of two runs, in sentences. */
export const machineSentences = ({ machine }: Comparison): string[] =>
  machine.map(
    ({ name, unit, a, b, ratio }) =>
      `Machine, ${name}: ${formatNumber(a)} and ${formatNumber(b)} ${unit}, ratio ${ratio.toFixed(2)} (one number per run: no interval)`,
  );

/** Two runs against each other, for people. */
export function comparisonTable(comparison: Comparison): string {
  const { refused, warnings, figures } = comparison;
  if (refused && figures.length === 0) return refused;
  return [
    ...(figures.length ? markdownTable(comparisonCells(comparison)) : []),
    ...machineSentences(comparison),
    ...warnings.map((warning) => `- ${warning}`),
  ].join('\n');
}

const interval = ({ value, low, high }: { value: number; low: number; high: number }): string =>
  `${formatNumber(value)} (${formatNumber(low)}–${formatNumber(high)})`;

/** The whole report as Markdown: a header for a reader in a hurry, then the table and what it holds under. */
export function reportMarkdown(report: Report): string {
  const headers = report.runs.map(
    (run) => `**${run.conditions.engine.name}**: ${headlineText(headlineOf(run, report)).replace('\n', '  \n')}`,
  );
  const command = report.command === undefined ? [] : ['', 'Repeat with:', '', '```', report.command, '```'];
  return [
    `# Benchmark of ${report.createdAt}`,
    '',
    ...headers.flatMap((header) => [header, '']),
    reportTable(report),
    ...command,
    '',
  ].join('\n');
}

function markdownTable({ head, rows }: Cells): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length), 3));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
