import { createEngine, type CreateEngineOptions, type Engine, type EngineName } from '../../src/index.ts';
import { countGpuCalls, type GpuCallCounter } from '../../src/runtime/bench/gpu-calls.ts';
import { makeReport } from '../../src/runtime/bench/make-report.ts';
import type { Report, Run } from '../../src/runtime/bench/report.ts';
import { EngineRun, runInterleaved, type RunnerHooks, type Workload } from '../../src/runtime/bench/runner.ts';
import { measureGpuCalls } from '../../src/runtime/bench/steady-calls.ts';

export interface BenchOptions {
  engines: readonly EngineName[];
  model: string;
  workload: Workload;
  /** Counts WebGPU calls; the engines then run in the page, where they can be counted. @default false */
  gpuCalls?: boolean;
  command?: string;
}

/** Loads the engines, runs the workload on them in turns, and makes the report. */
export async function runBench(options: BenchOptions, hooks: RunnerHooks = {}): Promise<Report> {
  const counter = options.gpuCalls ? countGpuCalls() : undefined;
  const engines: Engine[] = [];
  try {
    for (const engine of options.engines) {
      const load: CreateEngineOptions = { model: options.model, engine, worker: !counter };
      engines.push(await createEngine({ ...load, ...(hooks.signal && { signal: hooks.signal }) }));
    }
    const runs = await runInterleaved(
      engines.map((engine) => new EngineRun(engine, options.workload)),
      hooks,
    );
    const counted = counter ? await addCalls(runs, engines, options.workload, counter) : runs;
    return await makeReport(counted, {
      version: __TOKENGLASS_VERSION__,
      ...(options.command !== undefined && { command: options.command }),
    });
  } finally {
    counter?.uninstall();
    for (const engine of engines) await engine[Symbol.asyncDispose]();
  }
}

/** In a request of its own after the measured ones: counting costs time. */
async function addCalls(runs: Run[], engines: Engine[], workload: Workload, counter: GpuCallCounter): Promise<Run[]> {
  const counted: Run[] = [];
  for (const [index, run] of runs.entries()) {
    const request = { prompt: 'The', maxTokens: workload.outputTokens, ignoreEos: true };
    const calls = await measureGpuCalls(engines[index]!, request, counter);
    counted.push({ ...run, ...(calls && { gpuCallsPerToken: calls }) });
  }
  return counted;
}
