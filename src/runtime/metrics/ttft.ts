import type { RequestMarks, RequestTrace } from '../../shared/trace.ts';

/**
 * Where the time to the first token went, in ms and in this order. A part is absent when its mark was never reached (no cache was looked
 * up, say); its time is then within the next part, so that the parts that are there always add up to the whole.
 */
export interface TtftParts {
  /** From the call until the engine took the request off its queue. */
  queueMs?: number;
  /** Chat template and tokenizer. */
  tokenizeMs?: number;
  /** Prefix cache: look-up, and restoring the KV of hits. */
  cacheMs?: number;
  /** Computing the prompt, all chunks. */
  prefillMs?: number;
  /** From the end of prefill compute until the first token's id was known: sampling on the CPU, readback where it can be told from computing. */
  firstSampleMs?: number;
  /** From there until text reached the caller: decoding text, further tokens if the first gave no text, the way to the page. */
  deliveryMs?: number;
}

/** The parts in order, each with the mark that ends it. */
export const TTFT_PARTS: readonly (readonly [part: keyof TtftParts, endsAt: keyof RequestMarks])[] = [
  ['queueMs', 'startedMs'],
  ['tokenizeMs', 'tokenizedMs'],
  ['cacheMs', 'cacheReadyMs'],
  ['prefillMs', 'prefilledMs'],
  ['firstSampleMs', 'firstTokenMs'],
  ['deliveryMs', 'firstDeliveredMs'],
];

/**
 * Time to first token, ms: from the call to the first non-empty delta at the caller. An empty or role-only chunk does not end it.
 * Absent if no text was delivered.
 */
export function ttft({ marks }: Pick<RequestTrace, 'marks'>): number | undefined {
  return marks.firstDeliveredMs === undefined ? undefined : marks.firstDeliveredMs - marks.calledMs;
}

/**
 * {@link ttft} split into its parts; absent like it. Clocks of page and worker may differ by a fraction of a ms: a mark out of
 * order is moved to its neighbour, so that no part is negative and the sum stays exact.
 */
export function ttftParts({ marks }: Pick<RequestTrace, 'marks'>): TtftParts | undefined {
  const endMs = marks.firstDeliveredMs;
  if (endMs === undefined) return undefined;
  const parts: TtftParts = {};
  let sinceMs = marks.calledMs;
  for (const [part, mark] of TTFT_PARTS) {
    const markMs = marks[mark];
    if (markMs === undefined) continue;
    const untilMs = Math.min(Math.max(markMs, sinceMs), endMs);
    parts[part] = untilMs - sinceMs;
    sinceMs = untilMs;
  }
  return parts;
}
