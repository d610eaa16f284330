import {
  createEndpointEngine,
  createEngine,
  type CreateEngineOptions,
  type Engine,
  type EngineName,
  type LoadProgress,
} from '../../src/index.ts';
import { runExperiment, type Experiment, type ExperimentHooks } from '../../src/runtime/bench/bench.ts';
import { countGpuCalls, type GpuCallCounter } from '../../src/runtime/bench/gpu-calls.ts';
import { makeReport } from '../../src/runtime/bench/make-report.ts';
import type { Report, Run } from '../../src/runtime/bench/report.ts';
import { measureGpuCalls } from '../../src/runtime/bench/steady-calls.ts';
import { ScreenAwake, watchPage } from './page-watch.ts';

export interface BenchOptions extends Experiment {
  /** As `--engine` has them. */
  engines: readonly string[];
  model: string;
  /** The server of the engine `endpoint`; the key is for this run, and in no report. */
  endpoint?: { baseURL: string; model: string; apiKey?: string };
  /** What the engine `web-llm` runs. */
  webLlmModel?: string;
  /** Counts WebGPU calls; the engines then run in the page, where they can be counted. @default false */
  gpuCalls?: boolean;
  /** The command line or address that repeats this. */
  command?: string;
}

export interface BenchHooks extends Omit<ExperimentHooks, 'watch'> {
  onLoad?: ((progress: LoadProgress, engine: string) => void) | undefined;
}

/** Loads the engines, runs the experiment on them, and makes the report. The screen is kept awake meanwhile. */
export async function runBench(options: BenchOptions, hooks: BenchHooks = {}): Promise<Report> {
  const { workload, gpuCalls, command } = options;
  const counter = gpuCalls ? countGpuCalls() : undefined;
  const awake = new ScreenAwake();
  const engines: Engine[] = [];
  try {
    await awake.hold();
    for (const engine of options.engines) engines.push(await load(options, engine, !counter, hooks));
    const watch = (): (() => ReturnType<ReturnType<typeof watchPage>>) => watchPage(awake);
    const { runs, ...found } = await runExperiment(engines, options, { ...hooks, watch });
    const counted =
      counter && !hooks.signal?.aborted ? await addCalls(runs, engines, workload.outputLength, counter) : runs;
    return await makeReport(counted, { version: __TOKENGLASS_VERSION__, command, ...found });
  } finally {
    counter?.uninstall();
    for (const engine of engines) await engine[Symbol.asyncDispose]();
    await awake.release();
  }
}

function load(
  { model, endpoint, webLlmModel }: BenchOptions,
  engine: string,
  worker: boolean,
  { signal, onLoad }: BenchHooks,
): Promise<Engine> {
  if (engine === 'endpoint') {
    if (!endpoint) throw new RangeError('Cannot run the engine endpoint: there is no server; give its URL and model');
    // A request that is sent again would be measured as one.
    return createEndpointEngine({ ...endpoint, maxRetries: 0, ...(signal && { signal }) });
  }
  const options: CreateEngineOptions = {
    model: engine === 'web-llm' ? (webLlmModel ?? model) : model,
    engine: engine as EngineName,
    worker,
    // In memory only: what a person's own chats have stored is neither found nor cleared.
    prefixCache: { storedBytes: 0 },
  };
  return createEngine({
    ...options,
    ...(signal && { signal }),
    ...(onLoad && { onProgress: (progress) => onLoad(progress, engine) }),
  });
}

/** In a request of its own after the measured ones: counting costs time. */
async function addCalls(
  runs: readonly Run[],
  engines: readonly Engine[],
  outputLength: Experiment['workload']['outputLength'],
  counter: GpuCallCounter,
): Promise<Run[]> {
  const maxTokens = outputLength.kind === 'fixed' ? outputLength.tokens : 64;
  const counted: Run[] = [...runs];
  for (const engine of engines) {
    const calls = await measureGpuCalls(engine, { prompt: 'The', maxTokens, ignoreEos: true }, counter);
    const index = counted.findIndex(({ conditions }) => conditions.engine.name === engine.info.engine);
    if (calls && index >= 0) counted[index] = { ...counted[index]!, gpuCallsPerToken: calls };
  }
  return counted;
}
