import type { RequestTrace } from '../../shared/trace.ts';
import { tpot } from './tpot.ts';

/**
 * Prefill rate of one request, tokens/s: computed (not cached) prompt tokens / prefill compute time. Absent if nothing was computed or
 * the clock is too coarse to tell.
 */
export function prefillRate({ usage, prefillMs }: Pick<RequestTrace, 'usage' | 'prefillMs'>): number | undefined {
  const computedTokens = usage.promptTokens - usage.cachedTokens;
  if (prefillMs === undefined || prefillMs <= 0 || computedTokens <= 0) return undefined;
  return (computedTokens / prefillMs) * 1000;
}

/** Decode rate that one user sees, tokens/s: 1000 / TPOT. Absent like TPOT, and where that is 0. */
export function decodeRate(trace: Pick<RequestTrace, 'marks' | 'usage'>): number | undefined {
  const tpotMs = tpot(trace);
  return tpotMs === undefined || tpotMs <= 0 ? undefined : 1000 / tpotMs;
}

/**
 * Rate of the machine, tokens/s: all output tokens of all requests / duration of the run. Not comparable with {@link decodeRate}: several
 * users share it.
 * @param durationMs of the run; @default from the first call to the last delta
 * @returns nothing for no requests or no duration
 */
export function systemRate(
  traces: readonly Pick<RequestTrace, 'marks' | 'usage'>[],
  durationMs = spanMs(traces),
): number | undefined {
  if (durationMs === undefined || durationMs <= 0) return undefined;
  const tokens = traces.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return (tokens / durationMs) * 1000;
}

function spanMs(traces: readonly Pick<RequestTrace, 'marks'>[]): number | undefined {
  const ends = traces.flatMap(({ marks }) => marks.lastDeliveredMs ?? []);
  if (ends.length === 0) return undefined;
  const firstCallMs = traces.reduce((first, { marks }) => Math.min(first, marks.calledMs), Infinity);
  return ends.reduce((last, endMs) => Math.max(last, endMs), -Infinity) - firstCallMs;
}
