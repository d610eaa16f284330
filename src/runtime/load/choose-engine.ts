import { TokenglassError } from '../../shared/errors.ts';
import { ENGINES, type LoadableEngineName } from '../../shared/engines.ts';
import { gpuError, type GpuProbe } from '../backends/gpu/adapter-probe.ts';

/** An engine of this project that runs: never `auto`, and none that brings its own loop. */
export type LocalEngineName = Exclude<LoadableEngineName, 'web-llm'>;

/** Whether a name is that of an engine with our own loop. */
export const isLocalEngineName = (name: string): name is LocalEngineName =>
  Object.hasOwn(ENGINES, name) && name !== 'web-llm';

/** In which formats the model is there. */
export interface ModelFormats {
  gguf: boolean;
  onnx: boolean;
}

export interface EngineChoice {
  engine: LocalEngineName;
  /** One sentence for people: `EngineInfo.reason`. */
  reason: string;
}

/**
 * The rule behind `engine: 'auto'`: on a real GPU our own WebGPU runtime for a model that is there as GGUF, else onnxruntime-web on WebGPU; WASM where
 * there is no adapter or only a software one, on which WebGPU is many times slower than WASM. An engine that is asked for by name is taken
 * or refused, never replaced.
 *
 * @returns what to load, best first; the later ones are for when the GPU turns out not to do
 * @throws TokenglassError `no-webgpu`, `no-adapter`, `insecure-context` where only WebGPU would do; `model-unsupported` if the model is not there
 *   in the engine's format; `unsupported` for a name that is no engine here
 */
export function chooseEngines(
  requested: LocalEngineName | 'auto',
  probe: GpuProbe,
  formats: ModelFormats,
): [EngineChoice, ...EngineChoice[]] {
  if (requested === 'auto') return chooseAutomatically(probe, formats);
  if (!isLocalEngineName(requested)) {
    const known = ['auto', ...Object.keys(ENGINES)].join(', ');
    const message = `Cannot take the engine "${String(requested)}": it does not run here; take one of ${known}`;
    throw new TokenglassError('unsupported', message, { details: { engine: requested } });
  }
  const { format, device, place } = ENGINES[requested];
  if (!formats[format]) {
    const wanted = { gguf: 'a GGUF file', onnx: 'the folder of an ONNX model' }[format];
    const message = `Cannot run this model with the engine ${requested}: the model is of another format; give ${wanted}, or take the engine auto`;
    throw new TokenglassError('model-unsupported', message, { details: { engine: requested, format } });
  }
  if (device === 'gpu' && probe.status !== 'adapter') throw gpuError(probe);
  const slow =
    device === 'gpu' && probe.status === 'adapter' && probe.info.isFallback
      ? `; ${probe.info.description} is a software adapter, so it is slow`
      : '';
  return [{ engine: requested, reason: `Runs ${place}, because this engine was asked for${slow}.` }];
}

function chooseAutomatically(probe: GpuProbe, formats: ModelFormats): [EngineChoice, ...EngineChoice[]] {
  // A model that is there as ONNX too keeps to onnxruntime-web on the CPU.
  const cpu = formats.onnx ? 'onnx-wasm' : 'wasm';
  const onCpu = (because: string): EngineChoice => ({
    engine: cpu,
    reason: `Runs on the CPU (WASM), because ${because}.`,
  });
  if (probe.status !== 'adapter') return [onCpu(probe.reason)];
  const { description, isFallback } = probe.info;
  if (isFallback) {
    const choice = onCpu(`the only WebGPU adapter here, ${description}, is a software one, and slower`);
    if (formats.onnx) return [choice];
    const reason = `Runs on WebGPU, which this model needs; ${description} is a software adapter, so it is slow.`;
    return [choice, { engine: 'webgpu', reason }];
  }
  const onGpu = (['webgpu', 'onnx-webgpu'] as const)
    .filter((engine) => formats[ENGINES[engine].format])
    .map((engine) => ({ engine, reason: `Runs ${ENGINES[engine].place}, because there is a GPU: ${description}.` }));
  const all = onGpu.length > 0 ? [...onGpu, onCpu(`the GPU, ${description}, did not do`)] : [];
  const [first, ...rest] = all;
  if (first) return [first, ...rest];
  throw new TokenglassError(
    'model-unsupported',
    'Cannot run this model: it has no format that runs here; give another',
  );
}
