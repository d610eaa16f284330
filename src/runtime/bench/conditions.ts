import type { Engine } from '../request/engine.ts';
import type { Workload } from './load/workload.ts';
import type { Conditions } from './report.ts';

/** What a report declares of a model, and a server may keep to itself. */
const DECLARED = ['architecture', 'quantization', 'parameters', 'weightBytes', 'kvBytesPerToken'] as const;

/** What is declared of a run: of the engine by itself, of the workload as it was asked for, and what only the run shows. */
export function conditionsOf(
  { info, prefixCache }: Engine,
  workload: Workload,
  { mostUnderWay, flushed }: { mostUnderWay: number; flushed: boolean },
): Conditions {
  const { id, architecture, quantization, parameters, weightBytes, kvBytesPerToken } = info.model;
  const unknown = DECLARED.filter((name) => info.model.unknown?.includes(name));
  const { arrivals } = workload;
  const concurrency = arrivals.process === 'closed-loop' ? arrivals.users : mostUnderWay;
  return {
    model: {
      id,
      architecture,
      quantization,
      parameters,
      weightBytes,
      kvBytesPerToken,
      ...(unknown.length > 0 && { unknown }),
    },
    engine: {
      name: info.engine,
      version: info.version,
      reason: info.reason,
      worker: info.worker,
      ...(info.threads !== undefined && { threads: info.threads }),
      ...(info.scheduling && { policy: info.scheduling.policy }),
    },
    ...(info.adapter && { adapter: info.adapter }),
    // An engine that schedules elsewhere does not say how it batches.
    batch: Math.max(1, Math.min(info.scheduling?.maxBatch ?? 1, concurrency)),
    workload: workload.name ?? 'custom',
    promptLength: workload.promptLength,
    outputLength: workload.outputLength,
    sharedPrefixShare: workload.sharedPrefixShare,
    turns: workload.turns,
    arrivals,
    stop: workload.stop,
    concurrency,
    warmUpRequests: workload.warmUpRequests,
    coolDownMs: workload.coolDownMs,
    seed: workload.seed,
    temperature: workload.temperature,
    chatTemplate: !workload.raw,
    slo: workload.slo,
    prefixCache: prefixCache ? { enabled: true, flushed } : { enabled: false },
    speculative: info.speculation ? { enabled: true, method: info.speculation } : { enabled: false },
  };
}
