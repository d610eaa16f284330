import type uPlot from 'uplot';
import { percentile } from '../../src/runtime/metrics/percentile.ts';
import type { Report, Run } from '../../src/runtime/bench/report.ts';
import type { Sample } from '../../src/runtime/bench/sample.ts';

/** One line or cloud of points of a chart. */
export interface ChartSeries {
  name: string;
  /** Custom property with its colour. */
  colour: string;
  look: 'points' | 'line' | 'limit';
}

export interface Chart {
  title: string;
  /** Of the horizontal and the vertical axis. */
  axes: readonly [x: string, y: string];
  series: readonly ChartSeries[];
  data: uPlot.AlignedData;
}

/** A run, or what there is of one that goes on. */
export interface ChartedRun {
  name: string;
  samples: readonly Sample[];
  /** Where the time axis begins, on that of the samples. */
  fromMs: number;
  slo?: Run['conditions']['slo'];
}

const COLOURS = ['--chart-1', '--chart-2', '--chart-3', '--chart-4'] as const;
const colourOf = (index: number): string => COLOURS[index % COLOURS.length]!;

/** Most runs in one chart: more clouds of points cannot be told apart. */
const MOST_RUNS = COLOURS.length;

/** What was measured, request by request, over the time of the run. Warm-up and cool-down are not in it. */
export function runCharts(runs: readonly ChartedRun[]): Chart[] {
  const shown = runs.slice(0, MOST_RUNS).map((run) => ({
    ...run,
    samples: run.samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown),
  }));
  const slo = shown[0]?.slo;
  return [
    pointChart(shown, 'Time to first token', 'TTFT, ms', ({ ttftMs }) => ttftMs, slo?.ttftMs),
    pointChart(
      shown,
      'Between tokens',
      'ITL p95 of a request, ms',
      ({ itlMs }) => percentile(itlMs, 95),
      slo?.itlP95Ms,
    ),
    machineChart(shown),
  ];
}

/** The charts of a report: the curve of each sweep, else what was measured over time. */
export function reportCharts(report: Report): Chart[] {
  const sweeps = (report.sweeps ?? []).flatMap(({ engine, over, points }) => {
    const measured = points.map(({ value, run }) => ({ value, figures: report.runs[run]!.figures }));
    return [curveChart(engine, measured), loadChart(engine, over, measured)];
  });
  if (sweeps.length) return sweeps;
  return runCharts(
    report.runs.map(({ conditions, samples, steadyFromMs }) => ({
      name: conditions.engine.name,
      samples,
      fromMs: steadyFromMs,
      slo: conditions.slo,
    })),
  );
}

function pointChart(
  runs: readonly ChartedRun[],
  title: string,
  unit: string,
  pick: (sample: Sample) => number | undefined,
  limit: number | undefined,
): Chart {
  const columns = runs.map(({ samples, fromMs }) =>
    samples.flatMap((sample) => {
      const y = pick(sample);
      return y === undefined ? [] : [[(sample.calledMs - fromMs) / 1000, y] as const];
    }),
  );
  const data = aligned(columns);
  const limits =
    limit === undefined ? [] : [{ name: `limit ${limit} ms`, colour: '--chart-limit', look: 'limit' as const }];
  return {
    title,
    axes: ['s since the start', unit],
    series: [...runs.map(({ name }, index) => ({ name, colour: colourOf(index), look: 'points' as const })), ...limits],
    data: limit === undefined ? data : ([...data, data[0].map(() => limit)] as uPlot.AlignedData),
  };
}

/** Output tokens in each second of the run, all users together. */
function machineChart(runs: readonly ChartedRun[]): Chart {
  const columns = runs.map(({ samples, fromMs }) => {
    const perSecond: number[] = [];
    for (const { tokenTimesMs } of samples)
      for (const atMs of tokenTimesMs) {
        const second = Math.floor((atMs - fromMs) / 1000);
        if (second >= 0) perSecond[second] = (perSecond[second] ?? 0) + 1;
      }
    return Array.from(perSecond, (count: number | undefined, second) => [second + 0.5, count ?? 0] as const);
  });
  return {
    title: 'The machine',
    axes: ['s since the start', 'output tokens per second, all users'],
    series: runs.map(({ name }, index) => ({ name, colour: colourOf(index), look: 'line' })),
    data: aligned(columns),
  };
}

type Measured = readonly { value: number; figures: Run['figures'] }[];

function curveChart(engine: string, measured: Measured): Chart {
  const points = measured.flatMap(({ figures: { systemTokensPerSecond: x, e2eMs } }) =>
    x === undefined || e2eMs?.p95 === undefined ? [] : [[x, e2eMs.p95] as const],
  );
  return {
    title: `Latency against throughput, ${engine}`,
    axes: ['tokens per second, all users', 'E2E p95, ms'],
    series: [{ name: 'E2E p95', colour: '--chart-1', look: 'line' }],
    data: aligned([points]),
  };
}

function loadChart(engine: string, over: 'users' | 'rate', measured: Measured): Chart {
  const of = (pick: (figures: Run['figures']) => number | undefined) =>
    measured.flatMap(({ value, figures }) => {
      const y = pick(figures);
      return y === undefined ? [] : [[value, y] as const];
    });
  return {
    title: `Time to first token under load, ${engine}`,
    axes: [over === 'users' ? 'users' : 'requests per second', 'TTFT, ms'],
    series: [
      { name: 'p50', colour: '--chart-2', look: 'line' },
      { name: 'p95', colour: '--chart-1', look: 'line' },
    ],
    data: aligned([of(({ ttftMs }) => ttftMs.p50), of(({ ttftMs }) => ttftMs.p95)]),
  };
}

/** Columns of points on one common, sorted horizontal axis, with gaps where a column has none. */
function aligned(
  columns: readonly (readonly (readonly [x: number, y: number])[])[],
): [number[], ...(number | null)[][]] {
  const rows = columns.flatMap((points, column) => points.map(([x, y]) => ({ x, y, column })));
  rows.sort((a, b) => a.x - b.x);
  return [
    rows.map(({ x }) => x),
    ...columns.map((_, column) => rows.map((row) => (row.column === column ? row.y : null))),
  ];
}
