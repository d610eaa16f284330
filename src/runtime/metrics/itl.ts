import type { RequestTrace } from '../../shared/trace.ts';

/**
 * Inter-token latencies of one request, ms: each gap between successive output tokens at the engine. Of tokens, never of deltas or chunks,
 * one of which may carry several tokens or none. Empty for fewer than two tokens.
 */
export function itl({ tokenTimesMs }: Pick<RequestTrace, 'tokenTimesMs'>): number[] {
  return tokenTimesMs.slice(1).map((atMs, index) => atMs - tokenTimesMs[index]!);
}
