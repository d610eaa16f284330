import { summarize, type Summary } from '../metrics/summary.ts';
import type { Figures, Slo } from './report.ts';
import type { Sample } from './sample.ts';

/** Width of the window in which the peak of the system rate is looked for. */
const PEAK_WINDOW_MS = 1000;

/**
 * The figures of a run from its measured samples (warm-up left out by the caller). Samples of a hidden page stay out of the
 * distributions, not out of the counts.
 */
export function computeFigures(samples: readonly Sample[], durationMs: number, slo: Slo): Figures {
  const visible = samples.filter(({ hidden }) => !hidden);
  const of = (pick: (sample: Sample) => number | undefined): Summary | undefined => {
    const values = visible.flatMap((sample) => pick(sample) ?? []);
    return values.length ? summarize(values) : undefined;
  };
  const itlMs = visible.flatMap((sample) => sample.itlMs);
  const outputTokens = sum(samples, ({ outputTokens: tokens }) => tokens);
  const optional = {
    ttftMs: of(({ ttftMs }) => ttftMs),
    itlMs: itlMs.length ? summarize(itlMs) : undefined,
    tpotMs: of(({ tpotMs }) => tpotMs),
    e2eMs: of(({ e2eMs }) => e2eMs),
    prefillTokensPerSecond: of((sample) => sample.prefillTokensPerSecond),
    userTokensPerSecond: of(({ tpotMs }) => (tpotMs ? 1000 / tpotMs : undefined)),
    systemTokensPerSecond: durationMs > 0 ? (outputTokens / durationMs) * 1000 : undefined,
    peakSystemTokensPerSecond: peakRate(samples),
  };
  const promptTokens = sum(samples, (sample) => sample.promptTokens);
  return {
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as Partial<Figures>),
    goodput: goodput(samples, durationMs, slo),
    prefixCacheHitRate: promptTokens ? sum(samples, ({ cachedTokens }) => cachedTokens) / promptTokens : 0,
  };
}

/** Whether a request met every limit, inclusive; one whose figure is absent has not shown that it did. */
export function meetsSlo({ ttftMs, tpotMs }: Pick<Sample, 'ttftMs' | 'tpotMs'>, slo: Slo): boolean {
  const within = (value: number | undefined, limit: number | undefined): boolean =>
    limit === undefined || (value !== undefined && value <= limit);
  return within(ttftMs, slo.ttftMs) && within(tpotMs, slo.tpotMs);
}

function goodput(samples: readonly Sample[], durationMs: number, slo: Slo): Figures['goodput'] {
  const good = samples.filter((sample) => meetsSlo(sample, slo));
  const perSecond = (count: number): number => (durationMs > 0 ? (count / durationMs) * 1000 : 0);
  return {
    requestsPerSecond: perSecond(good.length),
    tokensPerSecond: perSecond(sum(good, ({ outputTokens }) => outputTokens)),
    share: samples.length ? good.length / samples.length : 0,
  };
}

/** Most tokens within any window of {@link PEAK_WINDOW_MS}; absent for a run shorter than that, which has no such window. */
function peakRate(samples: readonly Sample[]): number | undefined {
  const times = samples.flatMap(({ tokenTimesMs }) => tokenTimesMs).sort((a, b) => a - b);
  if (times.length === 0 || times.at(-1)! - times[0]! < PEAK_WINDOW_MS) return undefined;
  let most = 0;
  for (let last = 0, first = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= PEAK_WINDOW_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return (most / PEAK_WINDOW_MS) * 1000;
}

const sum = <Item>(items: readonly Item[], pick: (item: Item) => number): number =>
  items.reduce((total, item) => total + pick(item), 0);
