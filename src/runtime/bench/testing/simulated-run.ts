import { EngineRun } from '../engine-run.ts';
import { PauseGate } from '../load/pause-gate.ts';
import type { SessionHooks } from '../load/session.ts';
import type { Workload } from '../load/workload.ts';
import type { Run } from '../report.ts';
import { SimulatedEngine, type SimulatedService } from './simulated-engine.ts';
import { VirtualTimer } from './virtual-timer.ts';

/** One second of service: 400 ms to the first of 7 tokens, then 100 ms each. */
export const ONE_SECOND: SimulatedService = { firstTokenMs: 400, tokenMs: 100 };

/** 7 tokens out; everything else as plain as can be. */
export const simulatedWorkload = (changes: Partial<Workload> = {}): Workload => ({
  promptLength: { kind: 'fixed', tokens: 20 },
  outputLength: { kind: 'fixed', tokens: 7 },
  sharedPrefixShare: 0,
  turns: 1,
  arrivals: { process: 'closed-loop', users: 1, thinkTimeMs: 0 },
  stop: { requests: 20 },
  warmUpRequests: 0,
  coolDownMs: 0,
  keepCache: false,
  temperature: 0,
  seed: 1,
  raw: true,
  slo: { name: 'test', ttftMs: 2400 },
  ...changes,
});

export interface SimulatedRun {
  run: Run;
  timer: VirtualTimer;
  engine: SimulatedEngine;
}

/** Runs a workload on the simulated engine; takes no time. */
export async function simulateRun(
  changes: Partial<Workload> = {},
  service: SimulatedService = ONE_SECOND,
  hooks: SessionHooks & { onReady?: (timer: VirtualTimer, gate: PauseGate) => void } = {},
): Promise<SimulatedRun> {
  const timer = new VirtualTimer();
  const gate = new PauseGate(timer);
  const engine = new SimulatedEngine(timer, service);
  const running = new EngineRun(engine, simulatedWorkload(changes), { timer, gate });
  try {
    hooks.onReady?.(timer, gate);
    await running.run(hooks);
    return { run: running.result(), timer, engine };
  } finally {
    timer.close();
  }
}
