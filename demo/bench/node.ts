import { createEngine } from '../../src/index.ts';
import { runExperiment, type Experiment, type ExperimentHooks } from '../../src/runtime/bench/bench.ts';
import { countGpuCalls } from '../../src/runtime/bench/gpu-calls.ts';
import { makeReport } from '../../src/runtime/bench/make-report.ts';
import type { Report } from '../../src/runtime/bench/report.ts';
import { measureGpuCalls } from '../../src/runtime/bench/steady-calls.ts';
import { reportTable } from '../../src/runtime/bench/table.ts';

export interface NodeBenchOptions extends Experiment {
  /** `tutor`, or the URL of a GGUF file. */
  model: string;
  /** Where the built-in model is served: there are no page assets in Node. */
  tutorBaseUrl: string;
  gpuCalls?: boolean;
  command?: string;
}

/** The same experiment outside a page: our WebGPU runtime on an injected `GPU` (`npm run bench -- --runtime node`). */
export async function benchInNode(
  options: NodeBenchOptions,
  gpu: GPU,
  hooks: ExperimentHooks = {},
): Promise<{ report: Report; table: string }> {
  const counter = options.gpuCalls ? countGpuCalls() : undefined;
  const engine = await createEngine({
    model: options.model,
    engine: 'webgpu',
    worker: false,
    gpu,
    store: false,
    prefixCache: { storedBytes: 0 },
    assets: { tutorBaseUrl: options.tutorBaseUrl },
  });
  try {
    const { runs, ...found } = await runExperiment([engine], options, hooks);
    const { outputLength } = options.workload;
    const maxTokens = outputLength.kind === 'fixed' ? outputLength.tokens : 64;
    const calls =
      counter &&
      !hooks.signal?.aborted &&
      (await measureGpuCalls(engine, { prompt: 'The', maxTokens, ignoreEos: true }, counter));
    const counted = calls ? runs.map((run) => ({ ...run, gpuCallsPerToken: calls })) : runs;
    const report = await makeReport(counted, { version: __TOKENGLASS_VERSION__, command: options.command, ...found });
    return { report, table: reportTable(report) };
  } finally {
    counter?.uninstall();
    await engine[Symbol.asyncDispose]();
  }
}
