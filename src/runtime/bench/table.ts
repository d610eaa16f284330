import type { Summary } from '../metrics/summary.ts';
import type { Comparison } from './compare.ts';
import { describeAdapter, formatNumber, headlineOf, headlineText } from './headline.ts';
import { describeArrivals } from './load/arrivals.ts';
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
  [
    'model',
    ({ conditions: { model } }) => `${model.id} ${model.quantization}, ${(model.weightBytes / 1e6).toFixed(1)} MB`,
  ],
  [
    'adapter',
    ({ conditions: { adapter, engine } }) =>
      adapter ? describeAdapter(adapter) : `CPU, ${engine.threads ?? 1} threads`,
  ],
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
  ['warm-up / cool-down', ({ conditions: c }) => `${c.warmUpRequests} requests / ${number(c.coolDownMs / 1000)} s`],
  ['measured for', ({ durationMs }) => `${number(durationMs / 1000)} s`],
  ['completed / failed', ({ requests }) => `${requests.completed} / ${requests.failed}`],
];

function limitShares(shares: Run['figures']['goodput']['shares'], slo: Run['conditions']['slo']): string {
  return SLO_LIMITS.flatMap(([limit, name]) =>
    shares[limit] === undefined ? [] : [`${name} ${slo[limit]} ms: ${percent(shares[limit])}`],
  ).join(', ');
}

/** The report as a GitHub-flavoured Markdown table, which also reads well in a terminal. */
export function reportTable(report: Report): string {
  const { runs, environment, ratios, sweeps = [], searches = [] } = report;
  const calls = [...new Set(runs.flatMap(({ gpuCallsPerToken }) => Object.keys(gpuCallsPerToken ?? {})))];
  const rows = [
    ...ROWS.map(([name, cell]) => [name, ...runs.map(cell)]),
    ...calls.map((name) => [
      `${name} per token`,
      ...runs.map(({ gpuCallsPerToken }) => number((gpuCallsPerToken as Record<string, number> | undefined)?.[name])),
    ]),
  ].filter(([, ...cells]) => cells.some((cell) => cell !== ABSENT));
  const lines = markdownTable(['', ...runs.map(({ conditions }) => conditions.engine.name)], rows);
  for (const { of, to, figure, median, n } of ratios ?? [])
    lines.push(`${of} / ${to}, ${figure}: ${median.toFixed(2)} (median of ${n} pairs)`);
  for (const sweep of sweeps) lines.push('', ...sweepTable(sweep, runs));
  for (const search of searches) lines.push('', ...searchTable(search));
  const notes = new Set(runs.flatMap((run) => run.notes.map(({ message }) => message)));
  if (notes.size) lines.push('', ...[...notes].map((message) => `- ${message}`), '');
  lines.push(
    `${environment.browser}, ${environment.os}, ${environment.cpuThreads} CPU threads; tokenglass ${report.tokenglass}, ${report.createdAt}`,
  );
  return lines.join('\n');
}

function sweepTable({ over, points, knee, engine }: Sweep, runs: readonly Run[]): string[] {
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
  return markdownTable(
    [
      `${engine}, ${unit}`,
      'TTFT ms p50 / p95 / p99',
      'ITL ms p50 / p95 / p99',
      'one user tok/s',
      'machine tok/s',
      'goodput req/s',
    ],
    rows,
  );
}

function searchTable({ engine, slo, neededShare, tolerance, ratePerSecond, probes }: CapacitySearch): string[] {
  const said =
    ratePerSecond === undefined
      ? `${engine}: no rate that was tried keeps ${describeSlo(slo)} for ${percent(neededShare)} of the requests.`
      : `${engine}: ${formatNumber(ratePerSecond)} req/s is the highest rate that keeps ${describeSlo(slo)} for ${percent(neededShare)} of the requests (to ${percent(tolerance)}).`;
  return [
    said,
    ...markdownTable(
      ['req/s', 'met the SLO', ''],
      probes.map((probe) => [formatNumber(probe.ratePerSecond), percent(probe.share), probe.kept ? 'kept' : 'missed']),
    ),
  ];
}

/** Two runs against each other, for people. */
export function comparisonTable({ refused, warnings, figures, machine }: Comparison): string {
  const lines: string[] = [];
  if (refused && figures.length === 0) return refused;
  if (figures.length)
    lines.push(
      ...markdownTable(
        ['median (95 % interval)', 'first', 'second', 'ratio', ''],
        figures.map(({ name, unit, a, b, ratio, n, verdict }) => [
          `${name} ${unit}`,
          `${interval(a)} n=${n[0]}`,
          `${interval(b)} n=${n[1]}`,
          interval(ratio),
          verdict,
        ]),
      ),
    );
  for (const { name, unit, a, b, ratio } of machine)
    lines.push(
      `Machine, ${name}: ${formatNumber(a)} and ${formatNumber(b)} ${unit}, ratio ${ratio.toFixed(2)} (one number per run: no interval)`,
    );
  for (const warning of warnings) lines.push(`- ${warning}`);
  return lines.join('\n');
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

function markdownTable(head: string[], rows: string[][]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length), 3));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
