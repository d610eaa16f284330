import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../engine/engine.ts';
import { callsPerToken, type GpuCallCounter, type GpuCallCounts } from './gpu-calls.ts';

/**
 * WebGPU calls per decoded token at steady state: between a quarter and three quarters of the answer, so that neither the prefill nor the
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
  const from = Math.floor(readings.length / 4);
  const to = Math.floor((readings.length * 3) / 4);
  return to > from ? callsPerToken(readings[from]!, readings[to]!, to - from) : undefined;
}
