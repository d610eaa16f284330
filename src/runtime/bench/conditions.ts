import type { Engine } from '../engine/engine.ts';
import type { Workload } from './load/workload.ts';
import type { Conditions } from './report.ts';

/** What is declared of a run: of the engine by itself, of the workload as it was asked for, and what only the run shows. */
export function conditionsOf(
  { info, prefixCache }: Engine,
  workload: Workload,
  { mostUnderWay, flushed }: { mostUnderWay: number; flushed: boolean },
): Conditions {
  const { id, architecture, quantization, parameters, weightBytes, kvBytesPerToken } = info.model;
  const { arrivals } = workload;
  return {
    model: { id, architecture, quantization, parameters, weightBytes, kvBytesPerToken },
    engine: {
      name: info.engine,
      version: info.version,
      reason: info.reason,
      worker: info.worker,
      ...(info.threads !== undefined && { threads: info.threads }),
    },
    ...(info.adapter && { adapter: info.adapter }),
    batch: 1, // engines take one request at a time
    workload: workload.name ?? 'custom',
    promptLength: workload.promptLength,
    outputLength: workload.outputLength,
    sharedPrefixShare: workload.sharedPrefixShare,
    turns: workload.turns,
    arrivals,
    stop: workload.stop,
    concurrency: arrivals.process === 'closed-loop' ? arrivals.users : mostUnderWay,
    warmUpRequests: workload.warmUpRequests,
    coolDownMs: workload.coolDownMs,
    seed: workload.seed,
    temperature: workload.temperature,
    chatTemplate: !workload.raw,
    slo: workload.slo,
    prefixCache: prefixCache ? { enabled: true, flushed } : { enabled: false },
    speculative: { enabled: false },
  };
}
