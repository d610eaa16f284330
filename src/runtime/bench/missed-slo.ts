import type { Report, Run } from './report.ts';
import { describeSlo, meetsLimit, meetsSlo, SLO_LIMITS, type Slo } from './slo.ts';

/** Share of requests that has to meet an SLO for the run to have met it. */
export const NEEDED_SHARE = 0.95;

/** A sentence on each run that missed the SLO, with its limits; empty if all runs met it. The runs of a search are meant to miss it. */
export function missedSlo({ runs, searches = [] }: Pick<Report, 'runs' | 'searches'>, slo: Slo): string[] {
  const probes = new Set(searches.flatMap((search) => search.probes.map(({ run }) => run)));
  return runs.flatMap((run, index) => {
    if (probes.has(index)) return [];
    const samples = run.samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown);
    const share = shareOf(run, samples.filter((sample) => meetsSlo(sample, slo)).length);
    if (share >= NEEDED_SHARE) return [];
    const limits = SLO_LIMITS.flatMap(([limit, name]) =>
      slo[limit] === undefined
        ? []
        : [`${name}: ${percent(shareOf(run, samples.filter((sample) => meetsLimit(sample, slo, limit)).length))}`],
    );
    return [
      `${run.conditions.engine.name} missed the SLO ${describeSlo(slo)}: ${percent(share)} of the requests met it, ${percent(NEEDED_SHARE)} have to (${limits.join(', ')})`,
    ];
  });
}

/** Of all requests, failed ones included. */
function shareOf({ requests }: Run, count: number): number {
  const sent = requests.completed + requests.failed;
  return sent ? count / sent : 0;
}

const percent = (share: number): string => `${(share * 100).toFixed(share > 0.9 && share < 1 ? 1 : 0)} %`;
