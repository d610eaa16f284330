import { reportCsv } from '../../src/runtime/bench/csv.ts';
import { headlineOf } from '../../src/runtime/bench/headline.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import { reportMarkdown } from '../../src/runtime/bench/table.ts';
import { reportCharts } from './charts.ts';
import { chartsPng } from './plot.ts';
import { findings } from './results.ts';

export const EXPORTS = ['json', 'md', 'csv', 'png'] as const;
export type ExportKind = (typeof EXPORTS)[number];

/** The charts of a report under its headline. @param host whose colours they have */
export function reportPng(report: Report, host: HTMLElement): Promise<Blob> {
  const { figures, ranOn } = headlineOf(report.runs[0]!, report);
  const said = figures.map(({ label, value, detail }) => `${label} ${value} (${detail})`);
  const found = findings(report); // of several runs the first one's figures would say little
  const header = found.length ? found : [said.slice(0, 2).join(' · '), said.slice(2).join(' · ')];
  return chartsPng(reportCharts(report), [ranOn, ...header.slice(0, 2)], host);
}

/** Saves a report in a format of choice. */
export async function saveReport(report: Report, kind: ExportKind, host: HTMLElement): Promise<void> {
  const blob = await blobOf(report, kind, host);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `tokenglass-report-${report.createdAt.replaceAll(':', '-')}.${kind}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function blobOf(report: Report, kind: ExportKind, host: HTMLElement): Blob | Promise<Blob> {
  switch (kind) {
    case 'json':
      return new Blob([`${JSON.stringify(report, null, 2)}\n`], { type: 'application/json' });
    case 'md':
      return new Blob([reportMarkdown(report)], { type: 'text/markdown' });
    case 'csv':
      return new Blob([reportCsv(report)], { type: 'text/csv' });
    case 'png':
      return reportPng(report, host);
  }
}
