import type { RequestTrace } from '../../shared/trace.ts';

/** End-to-end latency of one request, ms: from the call to the last delta at the caller. Absent if nothing was delivered. */
export function e2e({ marks }: Pick<RequestTrace, 'marks'>): number | undefined {
  return marks.lastDeliveredMs === undefined ? undefined : marks.lastDeliveredMs - marks.calledMs;
}

/** What the model of latency says of a request: TTFT + (output tokens - 1) * TPOT, ms. */
export function modelE2e(ttftMs: number, outputTokens: number, tpotMs: number): number {
  return ttftMs + Math.max(0, outputTokens - 1) * tpotMs;
}

/** A measured end-to-end latency against the model. */
export interface E2eResidual {
  measuredMs: number;
  modelMs: number;
  /** Measured minus model. */
  residualMs: number;
}

/**
 * How far a request is from the model with the TTFT and the TPOT that are given: those of a run (medians, say), or what a what-if assumes. With
 * the request's own TTFT and TPOT the residual is 0 by definition. Absent if nothing was delivered.
 */
export function e2eResidual(
  trace: Pick<RequestTrace, 'marks' | 'usage'>,
  ttftMs: number,
  tpotMs: number,
): E2eResidual | undefined {
  const measuredMs = e2e(trace);
  if (measuredMs === undefined) return undefined;
  const modelMs = modelE2e(ttftMs, trace.usage.completionTokens, tpotMs);
  return { measuredMs, modelMs, residualMs: measuredMs - modelMs };
}
