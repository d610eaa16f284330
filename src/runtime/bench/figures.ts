import { acceptanceRate } from '../metrics/speculation.ts';
import { summarize, type Summary } from '../metrics/summary.ts';
import type { Figures, Goodput } from './report.ts';
import type { Sample } from './sample.ts';
import { meetsLimit, meetsSlo, SLO_LIMITS, type Slo } from './slo.ts';

/** Width of the window in which the peak of the system rate is looked for. */
const PEAK_WINDOW_MS = 1000;

/** The measured part of a run. */
export interface MeasuredPart {
  /** Warm-up and cool-down left out. */
  samples: readonly Sample[];
  /** Requests that were sent and gave no answer. */
  failed: number;
  /** On the axis of the samples. */
  fromMs: number;
  durationMs: number;
  slo: Slo;
  /** Their tokens within the measured part count for the machine, and nothing else of them. @default none */
  coolDown?: readonly Sample[];
}

/** The figures of a run. Samples of a hidden page stay out of the distributions, not out of the counts. */
export function computeFigures(part: MeasuredPart): Figures {
  const { samples } = part;
  const visible = samples.filter(({ hidden }) => !hidden);
  const of = (pick: (sample: Sample) => number | undefined): Summary =>
    summarize(visible.flatMap((sample) => pick(sample) ?? []));
  const draftAcceptance = acceptanceRate({
    draftedTokens: sum(samples, ({ draftedTokens = 0 }) => draftedTokens),
    acceptedTokens: sum(samples, ({ acceptedTokens = 0 }) => acceptedTokens),
  });
  const promptTokens = sum(samples, (sample) => sample.promptTokens);
  return {
    ttftMs: of(({ ttftMs }) => ttftMs),
    itlMs: summarize(visible.flatMap((sample) => sample.itlMs)),
    ...present({
      tpotMs: of(({ tpotMs }) => tpotMs),
      e2eMs: of(({ e2eMs }) => e2eMs),
      prefillTokensPerSecond: of((sample) => sample.prefillTokensPerSecond),
      userTokensPerSecond: of(({ tpotMs }) => (tpotMs ? 1000 / tpotMs : undefined)),
      dispatchDelayMs: of(({ dispatchDelayMs }) => dispatchDelayMs),
      queueMs: of(({ ttftParts }) => ttftParts?.queueMs),
    }),
    ...systemRates(part),
    goodput: goodput(part),
    prefixCacheHitRate: promptTokens ? sum(samples, ({ cachedTokens }) => cachedTokens) / promptTokens : 0,
    ...(draftAcceptance !== undefined && { draftAcceptance }),
  };
}

/** Without distributions of nothing. */
const present = (summaries: Record<string, Summary>): Partial<Figures> =>
  Object.fromEntries(Object.entries(summaries).filter(([, { n }]) => n > 0));

function goodput({ samples, failed, durationMs, slo }: MeasuredPart): Goodput {
  const good = samples.filter((sample) => meetsSlo(sample, slo));
  const perSecond = (count: number): number => (durationMs > 0 ? (count / durationMs) * 1000 : 0);
  const sent = samples.length + failed;
  const share = (count: number): number => (sent ? count / sent : 0);
  const shares = SLO_LIMITS.flatMap(([limit]) =>
    slo[limit] === undefined
      ? []
      : [[limit, share(samples.filter((sample) => meetsLimit(sample, slo, limit)).length)] as const],
  );
  return {
    requestsPerSecond: perSecond(good.length),
    tokensPerSecond: perSecond(sum(good, ({ outputTokens }) => outputTokens)),
    share: share(good.length),
    shares: Object.fromEntries(shares),
  };
}

function systemRates({ samples, coolDown = [], fromMs, durationMs }: MeasuredPart): Partial<Figures> {
  if (durationMs <= 0) return {};
  // A server may tell the tokens of a whole answer, and not when each came; or not even that.
  if (samples.some(isUntimed)) {
    const isCounted = samples.every(({ outputTokens, text }) => outputTokens > 0 || text === '');
    const tokens = sum(samples, ({ outputTokens }) => outputTokens);
    return isCounted ? { systemTokensPerSecond: (tokens / durationMs) * 1000 } : {};
  }
  // Sums of floating-point times: a token at the very end must not fall out by rounding.
  const endMs = fromMs + durationMs + 1e-6;
  const times = [...samples, ...coolDown]
    .flatMap(({ tokenTimesMs }) => tokenTimesMs)
    .filter((atMs) => atMs >= fromMs && atMs <= endMs)
    .sort((a, b) => a - b);
  const rate = (times.length / durationMs) * 1000;
  if (durationMs < PEAK_WINDOW_MS)
    return { systemTokensPerSecond: rate, peakSystemTokensPerSecond: rate, peakWindowMs: durationMs };
  return {
    systemTokensPerSecond: rate,
    peakSystemTokensPerSecond: (mostWithin(times, PEAK_WINDOW_MS) / PEAK_WINDOW_MS) * 1000,
    peakWindowMs: PEAK_WINDOW_MS,
  };
}

const isUntimed = ({ tokenTimesMs, text }: Sample): boolean => tokenTimesMs.length === 0 && text !== '';

/** Most of the sorted times within any window of that width. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let most = 0;
  for (let last = 0, first = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= windowMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

const sum = <Item>(items: readonly Item[], pick: (item: Item) => number): number =>
  items.reduce((total, item) => total + pick(item), 0);
