import type { RequestTrace } from '../../shared/trace.ts';
import { e2e } from './e2e.ts';
import { ttft } from './ttft.ts';

/**
 * Time per output token of one request, ms: (end-to-end - TTFT) / (output tokens - 1). Absent for fewer than two tokens and for a
 * request that delivered no text.
 */
export function tpot(trace: Pick<RequestTrace, 'marks' | 'usage'>): number | undefined {
  const { completionTokens } = trace.usage;
  const e2eMs = e2e(trace);
  const ttftMs = ttft(trace);
  if (completionTokens < 2 || e2eMs === undefined || ttftMs === undefined) return undefined;
  return (e2eMs - ttftMs) / (completionTokens - 1);
}
