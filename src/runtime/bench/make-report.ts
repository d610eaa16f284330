import { percentile } from '../metrics/percentile.ts';
import { readEnvironment } from './environment.ts';
import type { Ratio, Report, Run } from './report.ts';
import type { Sample } from './sample.ts';

/** A report of runs that were made together. */
export async function makeReport(
  runs: readonly Run[],
  { version, command, createdAt = new Date() }: { version: string; command?: string; createdAt?: Date },
): Promise<Report> {
  const ratios = runs.slice(1).flatMap((run) => ratiosOf(run, runs[0]!));
  return {
    format: 'tokenglass.report/1',
    tokenglass: version,
    createdAt: createdAt.toISOString(),
    environment: await readEnvironment(),
    ...(command !== undefined && { command }),
    runs,
    ...(ratios.length && { ratios }),
    figures: flatFigures(runs),
  };
}

/** `engine.figure`: numbers that a script can compare without knowing the tree. */
function flatFigures(runs: readonly Run[]): Record<string, number> {
  const flat: Record<string, number> = {};
  for (const { conditions, figures, gpuCallsPerToken } of runs) {
    const prefix = runs.length > 1 ? `${conditions.engine.name}.` : '';
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
    ] as const) {
      put(`${name}.n`, figures[name]?.n);
      for (const rank of ['p50', 'p95', 'p99'] as const) put(`${name}.${rank}`, figures[name]?.[rank]);
    }
    put('systemTokensPerSecond', figures.systemTokensPerSecond);
    for (const [name, value] of Object.entries<number>({ ...gpuCallsPerToken })) put(`gpuCallsPerToken.${name}`, value);
  }
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
