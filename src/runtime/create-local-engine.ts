import { systemClock } from '../shared/clock.ts';
import { isTokenglassError, TokenglassError } from '../shared/errors.ts';
import type { EngineName, LoadProgress } from '../shared/info.ts';
import { probeGpu, type GpuProbe } from './backends/onnx/adapter-probe.ts';
import { createOnnxBackend } from './backends/onnx/create-onnx-backend.ts';
import type { OnnxBackend } from './backends/onnx/onnx-backend.ts';
import type { OrtAssets } from './backends/onnx/ort-assets.ts';
import { chooseEngine, type EngineChoice } from './choose-engine.ts';
import type { Engine } from './engine/engine.ts';
import { createEngineFromParts } from './engine/local-engine.ts';
import { loadHubText } from './load-hub-text.ts';
import { resolveModel } from './models/catalog.ts';
import type { ModelSource } from './models/source.ts';

/** Where files lie that are not the model's, for pages whose bundler does not find them. */
export interface EngineAssets extends OrtAssets {
  /** URL of a folder with the built-in model. @default found by the bundler in this package */
  tutorBaseUrl?: string;
}

export interface LocalEngineOptions {
  /** `tutor` (built in), or the URL of a folder in the layout of onnx-community repositories. */
  model: string;
  /** @default 'auto': WebGPU on a real GPU, else WASM */
  engine?: EngineName;
  assets?: EngineAssets;
  /** Most tokens of a sequence. @default what the model can, within the memory there is */
  contextTokens?: number;
  /** Threads on WASM. @default 1 without cross-origin isolation, else at most 4 and at most the processors there are */
  threads?: number;
  /** Where adapters come from (not over the edge of a worker). @default `navigator.gpu` */
  gpu?: GPU;
  onProgress?: (progress: LoadProgress) => void;
  /** Ends the load. */
  signal?: AbortSignal;
}

/**
 * Loads a model in the calling thread and resolves to an engine that is ready to generate.
 *
 * @throws TokenglassError `model-not-found`, `model-invalid`, `model-unsupported`, `model-too-large`, `network`, `no-webgpu`, `no-adapter`,
 *   `insecure-context`, `unsupported`; `AbortError` once `signal` is aborted
 */
export async function createLocalEngine(options: LocalEngineOptions): Promise<Engine> {
  const { source, onnx } = resolveModel(options.model, options.assets);
  if (!onnx) {
    const message = `Cannot load ${source.id}: it is a GGUF file, which no engine here runs; give the folder of an ONNX model`;
    throw new TokenglassError('model-unsupported', message, { details: { model: source.id } });
  }
  const requested = options.engine ?? 'auto';
  const choice = chooseEngine(requested, await probe(options));
  try {
    return await load(options, source, choice);
  } catch (error) {
    const mayReplace = requested === 'auto' && choice.engine === 'onnx-webgpu';
    if (!mayReplace || !GPU_FAILURES.some((code) => isTokenglassError(error, code))) throw error;
    const because = error instanceof Error ? error.message : String(error);
    const reason = `Runs on the CPU (WASM), because the GPU failed its check (${because}).`;
    return load(options, source, { engine: 'onnx-wasm', reason });
  }
}

/** What `auto` answers by taking WASM: the GPU is there, but does not do. */
const GPU_FAILURES = ['numeric-fault', 'device-lost', 'watchdog', 'missing-feature'] as const;

function probe({ engine, gpu }: LocalEngineOptions): Promise<GpuProbe> {
  // Asking for an adapter wakes a GPU, which an engine on the CPU has no use for.
  if (engine === 'onnx-wasm') return Promise.resolve({ status: 'no-adapter', reason: 'none was asked for' });
  return probeGpu(gpu ? { gpu } : {});
}

async function load(options: LocalEngineOptions, source: ModelSource, choice: EngineChoice): Promise<Engine> {
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  const backendLoading = createOnnxBackend({
    ...options.assets,
    source,
    device: choice.engine === 'onnx-webgpu' ? 'webgpu' : 'wasm',
    signal,
    ...(options.gpu && { gpu: options.gpu }),
    ...(options.threads !== undefined && { threads: options.threads }),
    ...(options.contextTokens !== undefined && { contextTokens: options.contextTokens }),
    ...(options.onProgress && { onProgress: options.onProgress }),
  });
  try {
    const [backend, text] = await Promise.all([backendLoading, loadHubText(source, signal)]);
    return assemble(backend, text, choice);
  } catch (error) {
    failed.abort();
    backendLoading.then((backend) => backend.dispose()).catch(() => undefined);
    throw error;
  }
}

function assemble(backend: OnnxBackend, text: Awaited<ReturnType<typeof loadHubText>>, choice: EngineChoice): Engine {
  const { model, version, adapter, threads } = backend.info;
  return createEngineFromParts({
    backend,
    tokenizer: text.tokenizer,
    encodePrompt: text.encodePrompt,
    defaults: text.defaults,
    clock: systemClock,
    isHidden: () => (globalThis as { document?: { hidden: boolean } }).document?.hidden === true,
    info: {
      engine: choice.engine,
      version,
      model,
      ...(adapter && { adapter }),
      ...(threads !== undefined && { threads }),
      reason: choice.reason,
      worker: false,
    },
  });
}
