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
 * The rule behind `engine: 'auto'`: on a real GPU the engine `webgpu` for a model that is there as GGUF, else `onnx-webgpu`; on the CPU, where there
 * is no adapter or only a software one, which is slower, `wasm` for GGUF, else `onnx-wasm`. An engine that is asked for by name is taken
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
  const reads = (engine: LocalEngineName): boolean => formats[ENGINES[engine].format];
  const choices = (engines: readonly LocalEngineName[], reasonOf: (place: string) => string): EngineChoice[] =>
    engines.filter(reads).map((engine) => ({ engine, reason: reasonOf(ENGINES[engine].place) }));
  const onCpu = (because: string): EngineChoice[] =>
    choices(['wasm', 'onnx-wasm'], (place) => `Runs ${place}, because ${because}.`);
  const all: EngineChoice[] = [];
  if (probe.status !== 'adapter') all.push(...onCpu(probe.reason));
  else {
    const { description, isFallback } = probe.info;
    if (isFallback)
      all.push(
        ...onCpu(`the only WebGPU adapter here, ${description}, is a software one, and slower`),
        ...choices(
          ['webgpu'],
          (place) => `Runs ${place}, which this model needs; ${description} is a software adapter, so it is slow.`,
        ),
      );
    else
      all.push(
        ...choices(['webgpu', 'onnx-webgpu'], (place) => `Runs ${place}, because there is a GPU: ${description}.`),
        ...onCpu(`the GPU, ${description}, did not do`),
      );
  }
  const [first, ...rest] = all;
  if (first) return [first, ...rest];
  throw new TokenglassError(
    'model-unsupported',
    'Cannot run this model: it has no format that runs here; give another',
  );
}
