import type { RequestMarks, RequestTrace } from '../../../shared/trace.ts';

/**
 * A trace of a request called at 0 whose tokens were known, and their text delivered, at the given times.
 * @param more overwrites marks and fields
 */
export function handMadeTrace(
  tokenTimesMs: readonly number[],
  more: Partial<Omit<RequestTrace, 'marks'>> & { marks?: Partial<RequestMarks> } = {},
): RequestTrace {
  const { marks, ...rest } = more;
  const first = tokenTimesMs[0];
  const last = tokenTimesMs.at(-1);
  return {
    requestId: 'hand-made',
    usage: { promptTokens: 10, cachedTokens: 0, completionTokens: tokenTimesMs.length },
    tokenTimesMs,
    hidden: false,
    ...rest,
    marks: {
      calledMs: 0,
      ...(first !== undefined && { firstTokenMs: first, firstDeltaMs: first, firstDeliveredMs: first }),
      ...(last !== undefined && { lastTokenMs: last, lastDeliveredMs: last }),
      ...marks,
    },
  };
}
