import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../request/engine.ts';
import { percentile } from '../metrics/percentile.ts';
import { callsPerToken, type GpuCallCounter, type GpuCallCounts } from './gpu-calls.ts';

/**
 * WebGPU calls per decoded token at steady state: in the middle half of the answer, so that neither the prefill nor the
 * steps that are no longer given near the end count. Absent if the answer had too few tokens.
 */
export async function measureGpuCalls(
  engine: Engine,
  request: GenerateRequest,
  counter: GpuCallCounter,
): Promise<GpuCallCounts | undefined> {
  const readings: GpuCallCounts[] = []; // after each token
  for await (const event of engine.generate(request)) {
    if (event.type === 'delta') for (let count = 0; count < event.tokens.length; count++) readings.push(counter.read());
  }
  return steadyCalls(readings);
}

/**
 * Calls per token from readings after each token: windows of a quarter of the answer, each kind by its median over them. An engine with
 * steps in flight gives its next step now before and now after a token is read; one window would be off by that step, the median is not.
 */
function steadyCalls(readings: readonly GpuCallCounts[]): GpuCallCounts | undefined {
  const width = Math.floor(readings.length / 4);
  if (width === 0) return undefined;
  const windows: GpuCallCounts[] = [];
  for (let from = width; from + width < readings.length - width; from++)
    windows.push(callsPerToken(readings[from]!, readings[from + width]!, width));
  if (windows.length === 0) return undefined;
  const kinds = Object.keys(windows[0]!) as (keyof GpuCallCounts)[];
  const median = (kind: keyof GpuCallCounts): number =>
    percentile(
      windows.map((calls) => calls[kind]),
      50,
    )!;
  return Object.fromEntries(kinds.map((kind) => [kind, median(kind)])) as unknown as GpuCallCounts;
}
