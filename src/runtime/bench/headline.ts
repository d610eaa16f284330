import type { Report, Run } from './report.ts';
import { describeSlo } from './slo.ts';

/** One figure of the header. */
export interface HeadlineFigure {
  label: string;
  /** With its unit; a dash where there is none. */
  value: string;
  /** What it is of: `n = 40 requests`. */
  detail: string;
}

/** What a reader in a hurry takes away from a run. */
export interface Headline {
  figures: readonly HeadlineFigure[];
  /** What it ran on. */
  ranOn: string;
}

const ABSENT = '–';
/** Three figures, and no more places than the clock has. */
export const formatNumber = (value: number | undefined): string =>
  value === undefined
    ? ABSENT
    : Math.abs(value) >= 100
      ? value.toFixed(0)
      : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
const withUnit = (value: number | undefined, unit: string): string =>
  value === undefined ? ABSENT : `${formatNumber(value)} ${unit}`;

export function headlineOf(
  { conditions, figures, requests }: Run,
  { environment }: Pick<Report, 'environment'>,
): Headline {
  const { ttftMs, itlMs, goodput, peakSystemTokensPerSecond, peakWindowMs } = figures;
  const sent = requests.completed + requests.failed;
  return {
    figures: [
      { label: 'TTFT p95', value: withUnit(ttftMs.p95, 'ms'), detail: `n = ${ttftMs.n} requests` },
      { label: 'ITL p95', value: withUnit(itlMs.p95, 'ms'), detail: `n = ${itlMs.n} gaps` },
      {
        label: 'Peak of the machine',
        value: withUnit(peakSystemTokensPerSecond, 'tok/s'),
        detail:
          peakWindowMs === undefined
            ? 'nothing was measured'
            : `best ${formatNumber(peakWindowMs / 1000)} s of the run`,
      },
      {
        label: 'Goodput',
        value: withUnit(goodput.requestsPerSecond, 'req/s'),
        detail: `${Math.round(goodput.share * 100)} % of ${sent} met ${describeSlo(conditions.slo)}`,
      },
    ],
    ranOn: ranOn(conditions, environment),
  };
}

function ranOn(conditions: Run['conditions'], { browser, os, cpuThreads }: Report['environment']): string {
  const { model, engine } = conditions;
  return `${describeModel(model)} on ${engine.name} ${engine.version}; ${describeMachine(conditions, cpuThreads)}; ${browser}, ${os}`;
}

/** Name, precision and size, as far as they are known. */
export function describeModel({ id, quantization, weightBytes, unknown = [] }: Run['conditions']['model']): string {
  const precision = unknown.includes('quantization') ? 'of unknown precision' : quantization;
  const size = unknown.includes('weightBytes') ? 'size unknown' : `${(weightBytes / 1e6).toFixed(1)} MB`;
  return `${id} ${precision} (${size})`;
}

/** What computes. @param of CPU threads that there are; left out if absent */
export function describeMachine({ adapter, engine }: Run['conditions'], of?: number): string {
  if (adapter) return describeAdapter(adapter);
  if (engine.name === 'endpoint') return 'a server, not this device';
  if (engine.threads === undefined && engine.name === 'web-llm') return 'a GPU that is not known';
  return `CPU, ${engine.threads ?? 1}${of === undefined ? '' : ` of ${of}`} threads`;
}

export function describeAdapter(adapter: NonNullable<Run['conditions']['adapter']>): string {
  const name =
    [adapter.vendor, adapter.architecture].filter(Boolean).join(' ') || adapter.description || 'unnamed adapter';
  return adapter.isFallback ? `${name} (software)` : name;
}

/** One line of text. */
export const headlineText = ({ figures, ranOn: machine }: Headline): string =>
  `${figures.map(({ label, value, detail }) => `${label} ${value} (${detail})`).join(' · ')}\n${machine}`;
