import { percentile } from '../metrics/percentile.ts';
import { readEnvironment, type Environment } from './environment.ts';
import { REPORT_FORMAT, type CapacitySearch, type Ratio, type Report, type Run, type Sweep } from './report.ts';
import type { Sample } from './sample.ts';

export interface ReportDetails {
  /** Of Tokenglass. */
  version: string;
  command?: string | undefined;
  createdAt?: Date;
  /** @default that of this page */
  environment?: Environment;
  sweeps?: readonly Sweep[];
  searches?: readonly CapacitySearch[];
  /** Whether the engines took turns, so that samples of the same number are neighbours in time. @default true */
  inTurns?: boolean;
}

/** A report of runs that were made together. */
export async function makeReport(
  runs: readonly Run[],
  { version, command, createdAt = new Date(), environment, sweeps = [], searches = [], inTurns = true }: ReportDetails,
): Promise<Report> {
  const ratios = inTurns ? runs.slice(1).flatMap((run) => ratiosOf(run, runs[0]!)) : [];
  return {
    format: REPORT_FORMAT,
    tokenglass: version,
    createdAt: createdAt.toISOString(),
    environment: environment ?? (await readEnvironment()),
    ...(command !== undefined && { command }),
    runs,
    ...(ratios.length && { ratios }),
    ...(sweeps.length && { sweeps }),
    ...(searches.length && { searches }),
    figures: flatFigures(runs, searches),
  };
}

/** `engine.figure`: numbers that a script can compare without knowing the tree. */
function flatFigures(runs: readonly Run[], searches: readonly CapacitySearch[]): Record<string, number> {
  const flat: Record<string, number> = {};
  const names = runs.map(({ conditions }) => conditions.engine.name);
  for (const [index, { conditions, figures, gpuCallsPerToken, requests }] of runs.entries()) {
    const { name } = conditions.engine;
    // Several runs of one engine (a sweep, say) are told apart by their place.
    const place =
      names.indexOf(name) === names.lastIndexOf(name)
        ? ''
        : `${names.slice(0, index).filter((other) => other === name).length}.`;
    const prefix = runs.length > 1 ? `${name}.${place}` : '';
    const put = (name: string, value: number | undefined): void => {
      if (value !== undefined) flat[prefix + name] = value;
    };
    for (const name of [
      'ttftMs',
      'itlMs',
      'tpotMs',
      'e2eMs',
      'prefillTokensPerSecond',
      'userTokensPerSecond',
      'dispatchDelayMs',
      'queueMs',
    ] as const) {
      put(`${name}.n`, figures[name]?.n);
      for (const rank of ['p50', 'p95', 'p99'] as const) put(`${name}.${rank}`, figures[name]?.[rank]);
    }
    put('systemTokensPerSecond', figures.systemTokensPerSecond);
    put('peakSystemTokensPerSecond', figures.peakSystemTokensPerSecond);
    put('goodput.requestsPerSecond', figures.goodput.requestsPerSecond);
    put('goodput.tokensPerSecond', figures.goodput.tokensPerSecond);
    put('goodput.share', figures.goodput.share);
    put('prefixCacheHitRate', figures.prefixCacheHitRate);
    put('draftAcceptance', figures.draftAcceptance);
    put('requests.completed', requests.completed);
    put('requests.failed', requests.failed);
    for (const [name, value] of Object.entries<number>({ ...gpuCallsPerToken })) put(`gpuCallsPerToken.${name}`, value);
  }
  for (const { engine, ratePerSecond } of searches)
    if (ratePerSecond !== undefined)
      flat[`${searches.length > 1 ? `${engine}.` : ''}capacityRequestsPerSecond`] = ratePerSecond;
  return flat;
}

const COMPARED: readonly Ratio['figure'][] = ['ttftMs', 'tpotMs', 'prefillTokensPerSecond'];

/** Ratio of each figure, pair by pair of the samples that were taken next to each other; then the median of those ratios. */
function ratiosOf(run: Run, base: Run): Ratio[] {
  const baseByIndex = new Map(base.samples.map((sample) => [sample.index, sample]));
  return COMPARED.flatMap((figure) => {
    const pairs = run.samples.flatMap((sample) => pairRatio(sample, baseByIndex.get(sample.index), figure) ?? []);
    const median = percentile(pairs, 50);
    if (median === undefined) return [];
    return { of: run.conditions.engine.name, to: base.conditions.engine.name, figure, median, n: pairs.length };
  });
}

function pairRatio(sample: Sample, other: Sample | undefined, figure: Ratio['figure']): number | undefined {
  if (!other || sample.warmUp || other.warmUp || sample.hidden || other.hidden) return undefined;
  const [value, base] = [sample[figure], other[figure]];
  return value !== undefined && base ? value / base : undefined;
}
