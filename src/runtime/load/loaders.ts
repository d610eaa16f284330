import type { Backend } from '../backends/backend.ts';
import { memoryLimit } from '../models/fit-check.ts';
import type { GgufHeader } from '../models/gguf/header.ts';
import { inFormat, type ResolvedModel } from '../models/catalog.ts';
import { ENGINES } from '../../shared/engines.ts';
import type { LocalEngineName } from './choose-engine.ts';
import type { LocalEngineOptions } from './create-local-engine.ts';
import { beginLoad } from './load-session.ts';
import { importOnnx } from './import-onnx.ts';
import { ggufText, type ModelText } from './model-text.ts';

/** A backend and the text side of its model. */
export interface LoadedModel {
  backend: Backend;
  text: ModelText;
}

type Loader = (options: LocalEngineOptions, model: ResolvedModel) => Promise<LoadedModel>;

/** How each engine loads. Backends are imported when they are used, so that a page fetches the code of one. */
const LOADERS: Readonly<Record<LocalEngineName, Loader>> = {
  webgpu: loadWebGpu,
  wasm: loadWasm,
  'onnx-webgpu': (options, model) => loadOnnx(options, model, 'webgpu'),
  'onnx-wasm': (options, model) => loadOnnx(options, model, 'wasm'),
};

/** Loads a model for one engine: its files by way of the store, its weights, its text side. */
export async function loadModel(
  options: LocalEngineOptions,
  model: ResolvedModel,
  engine: LocalEngineName,
): Promise<LoadedModel> {
  const { store, update, onProgress, signal, contextTokens } = options;
  const { format, device } = ENGINES[engine];
  const session = await beginLoad(inFormat(model, format), {
    store,
    update,
    onProgress,
    signal,
    memoryBytes: memoryLimit(device === 'cpu'),
    contextTokens,
  });
  const told = session.onProgress ?? onProgress;
  try {
    return await LOADERS[engine]({ ...options, ...(told && { onProgress: told }) }, session.model);
  } finally {
    await session.end();
  }
}

async function loadWebGpu(options: LocalEngineOptions, { source, gguf }: ResolvedModel): Promise<LoadedModel> {
  const { createWebGpuBackend } = await import('../backends/webgpu/create-webgpu-backend.ts');
  let header: GgufHeader | undefined;
  const memoryBudgetBytes = memoryLimit(false);
  const backend = await createWebGpuBackend({
    ...shared(options),
    ...(memoryBudgetBytes !== undefined && { memoryBudgetBytes }),
    ...(options.runAhead !== undefined && { runAhead: options.runAhead }),
    source,
    path: gguf!,
    ...(options.prefillPrecision && { prefillPrecision: options.prefillPrecision }),
    onHeader: (read) => {
      header = read;
    },
  });
  try {
    return { backend, text: ggufText(header!.metadata) };
  } catch (error) {
    await backend.dispose();
    throw error;
  }
}

async function loadWasm(options: LocalEngineOptions, { source, gguf }: ResolvedModel): Promise<LoadedModel> {
  const { createWasmBackend } = await import('../backends/wasm/create-wasm-backend.ts');
  let header: GgufHeader | undefined;
  const backend = await createWasmBackend({
    ...shared(options),
    ...(options.threads !== undefined && { threads: options.threads }),
    source,
    path: gguf!,
    onHeader: (read) => {
      header = read;
    },
  });
  try {
    return { backend, text: ggufText(header!.metadata) };
  } catch (error) {
    await backend.dispose();
    throw error;
  }
}

async function loadOnnx(
  options: LocalEngineOptions,
  { source }: ResolvedModel,
  device: 'webgpu' | 'wasm',
): Promise<LoadedModel> {
  const { createOnnxBackend, loadHubText } = await importOnnx();
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  const backendLoading = createOnnxBackend({
    ...options.assets,
    ...shared(options),
    source,
    device,
    signal,
    ...(options.threads !== undefined && { threads: options.threads }),
  });
  try {
    const [backend, text] = await Promise.all([backendLoading, loadHubText(source, signal)]);
    return { backend, text };
  } catch (error) {
    failed.abort();
    backendLoading.then((backend) => backend.dispose()).catch(() => undefined);
    throw error;
  }
}

/** Options that every backend has. */
function shared({ gpu, contextTokens, onProgress, signal }: LocalEngineOptions) {
  return {
    ...(gpu && { gpu }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  };
}
