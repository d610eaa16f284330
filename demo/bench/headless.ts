import type { ExperimentProgress } from '../../src/runtime/bench/bench.ts';
import { compareRuns } from '../../src/runtime/bench/compare.ts';
import { reportCsv } from '../../src/runtime/bench/csv.ts';
import { loadReport } from '../../src/runtime/bench/load-report.ts';
import { missedSlo } from '../../src/runtime/bench/missed-slo.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import type { Slo } from '../../src/runtime/bench/slo.ts';
import { comparisonTable, reportMarkdown, reportTable } from '../../src/runtime/bench/table.ts';
import { runBench, type BenchOptions } from './run-bench.ts';
import { runScenario } from './run-scenario.ts';

/** What the command line wants beside the report. */
export interface HeadlessWishes {
  /** Text of a report to compare with. */
  baseline?: string;
  assertSlo?: Slo;
  png?: boolean;
}

export interface HeadlessResult {
  report: Report;
  table: string;
  comparison?: string;
  /** Sentences on runs that missed the SLO of `--assert`. */
  missed: readonly string[];
  exports: { markdown: string; csv: string; png?: string };
}

declare global {
  interface Window {
    /** What the command line calls: runs, and gives the report and what is made of it. */
    tokenglassBench: (
      options: BenchOptions,
      wishes?: HeadlessWishes,
      onProgress?: (progress: Omit<ExperimentProgress, 'sample'>) => void,
    ) => Promise<HeadlessResult>;
    /** Ends the run of `tokenglassBench` that is under way; what was measured until then is its report. */
    tokenglassCancel: () => void;
    /** Of the command line: see `ScenarioContext.mainThreadMs`. */
    tokenglassMainThreadMs?: () => Promise<number>;
    /** What the command line calls for `--scenario`. */
    tokenglassScenario: typeof runScenario;
  }
}

/** Offers the page to a program that drives it. @param drawCharts gives the charts of a report as a PNG in base64 */
export function offerHeadless(drawCharts: (report: Report) => Promise<string>): void {
  window.tokenglassScenario = runScenario;
  let running: AbortController | undefined;
  window.tokenglassCancel = () => running?.abort();
  window.tokenglassBench = async (options, wishes = {}, onProgress) => {
    running = new AbortController();
    const baseline = wishes.baseline === undefined ? undefined : loadReport(wishes.baseline);
    const report = await runBench(options, {
      signal: running.signal,
      keepWhenCut: true,
      // Samples are in the report; a progress bar needs none.
      onProgress: onProgress && (({ sample: _, ...progress }) => onProgress(progress)),
    });
    return {
      report,
      table: reportTable(report),
      ...(baseline && { comparison: compareAll(baseline, report) }),
      missed: wishes.assertSlo ? missedSlo(report, wishes.assertSlo) : [],
      exports: {
        markdown: reportMarkdown(report),
        csv: reportCsv(report),
        ...(wishes.png && { png: await drawCharts(report) }),
      },
    };
  };
}

/** Each run against the run of the same engine in the baseline, or against its first. */
function compareAll(baseline: Report, report: Report): string {
  return report.runs
    .map((run) => {
      const name = run.conditions.engine.name;
      const base = baseline.runs.find(({ conditions }) => conditions.engine.name === name) ?? baseline.runs[0]!;
      return comparisonTable(compareRuns({ report: baseline, run: base }, { report, run }));
    })
    .join('\n\n');
}
