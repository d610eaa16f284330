/** The benchmark lab as a library: load, measurement, statistics and the report, for any `Engine`. See docs/benchmarks.md. */
export {
  runExperiment,
  type Experiment,
  type ExperimentHooks,
  type ExperimentProgress,
  type ExperimentResult,
} from './bench.ts';
export { searchCapacity, type ProbeResult, type SearchOptions, type SearchResult } from './capacity.ts';
export { compareRuns, type ComparedFigure, type ComparedRun, type Comparison, type Difference } from './compare.ts';
export { reportCsv } from './csv.ts';
export { EngineRun, runInTurns, type EngineRunOptions } from './engine-run.ts';
export type { Environment } from './environment.ts';
export { findKnee, type LoadPoint } from './knee.ts';
export { headlineOf, headlineText, type Headline, type HeadlineFigure } from './headline.ts';
export { planArrivals, type Arrivals, type ClosedArrivals, type OpenArrivals } from './load/arrivals.ts';
export type { LengthDistribution } from './load/lengths.ts';
export { PauseGate } from './load/pause-gate.ts';
export type { Progress, SessionHooks } from './load/session.ts';
export { systemTimer, type Timer } from './load/timer.ts';
export { parseTrace, type TraceEntry } from './load/trace-file.ts';
export type { StopRule, Workload } from './load/workload.ts';
export { loadReport, reportProblems } from './load-report.ts';
export { makeReport, type ReportDetails } from './make-report.ts';
export { missedSlo } from './missed-slo.ts';
export { REPORT_SCHEMA } from './report-schema.ts';
export type { CapacitySearch, Conditions, Figures, Goodput, Note, Ratio, Report, Run, Sweep } from './report.ts';
export type { Sample } from './sample.ts';
export { readSetup, type ReadSetup, type SetupFiles } from './setup/read-setup.ts';
export type { Setup, SetupName } from './setup/setup.ts';
export { meetsSlo, parseSlo, SLOS, type Slo } from './slo.ts';
export { comparisonTable, reportMarkdown, reportTable } from './table.ts';
