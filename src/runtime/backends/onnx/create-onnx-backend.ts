import { systemClock, type Clock } from '../../../shared/clock.ts';
import { abortError, TokenglassError } from '../../../shared/errors.ts';
import type { AdapterInfo, LoadProgress, ModelInfo } from '../../../shared/info.ts';
import type { BackendCapabilities } from '../backend.ts';
import type { ModelSource } from '../../models/source.ts';
import { MAX_TOP_LOGPROBS } from '../sampling/definition.ts';
import { describeAdapter, gpuError, probeGpu } from '../gpu/adapter-probe.ts';
import { DeviceGuard } from './device-guard.ts';
import { kvBytesPerToken } from './kv-tensors.ts';
import { checkBatch, checkPrefill } from './load-check.ts';
import { loadOnnxFiles, type OnnxDtype, type OnnxModelFiles } from './model-files.ts';
import { OnnxBackend } from './onnx-backend.ts';
import { createInferenceSession, OnnxSession } from './onnx-session.ts';
import { webGpuVariant, type OrtAssets, type OrtVariant } from './ort-assets.ts';
import { loadOrtRuntime, type OrtRuntime } from './ort-runtime.ts';
import { hasRightSubgroups, requestOrtDevice, watchDevice } from './ort-device.ts';
import { MAX_KV_BYTES } from './step-runner.ts';

export interface OnnxBackendOptions extends OrtAssets {
  /** A source with the layout of onnx-community repositories. */
  source: ModelSource;
  device: 'webgpu' | 'wasm';
  /** @default `q4f16` then `q4` on a GPU with `shader-f16`; else `q4` */
  dtype?: OnnxDtype;
  /** Where adapters come from. @default `navigator.gpu` */
  gpu?: GPU;
  /** Which build of onnxruntime-web runs WebGPU. @default `jspi` where the browser has JSPI, else `asyncify` */
  variant?: Exclude<OrtVariant, 'wasm'>;
  /** Threads on WASM. @default 1 without cross-origin isolation, else at most 4 and at most the processors there are */
  threads?: number;
  /** Most tokens of a sequence. @default what config.json says, or fewer if that would need more than 1 GiB of KV */
  contextTokens?: number;
  /** A call of the device that takes longer is taken for dead. @default 60000 */
  watchdogMs?: number;
  clock?: Clock;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/** Logits of a run: those of all rows are computed, in f32, unless the model can keep the last only. */
const MAX_LOGITS_BYTES = 2 ** 26;

/** Sequences that decode together; what each adds to the time of a step grows from here on with the matrices, not with the weights. */
const MAX_BATCH = 8;

/**
 * Loads an ONNX model into onnxruntime-web and shows with a known prompt that its results are right.
 *
 * @throws TokenglassError `no-webgpu`, `no-adapter`, `insecure-context`, `missing-feature`, `model-not-found`, `model-invalid`,
 *   `model-unsupported`, `model-too-large`, `network`, `numeric-fault` (the known prompt came out wrong), `device-lost`, `watchdog`;
 *   `AbortError` once `signal` is aborted
 */
export async function createOnnxBackend(options: OnnxBackendOptions): Promise<OnnxBackend> {
  const { signal, onProgress, contextTokens } = options;
  if (contextTokens !== undefined && !(Number.isInteger(contextTokens) && contextTokens > 0))
    throw new RangeError(`Cannot load a model for ${contextTokens} tokens of context: give a whole number above 0`);
  throwIfAborted(signal);
  const adapter = options.device === 'webgpu' ? await takeAdapter(options) : undefined;
  const runtimeLoading = loadOrtRuntime({
    ...options,
    variant: adapter ? (options.variant ?? webGpuVariant()) : 'wasm',
    ...(adapter && { threads: 1 }),
  });
  // Weights and runtime are fetched at the same time; the weights' failure is told first.
  runtimeLoading.catch(() => undefined);
  const files = await loadOnnxFiles({
    source: options.source,
    dtypes: dtypesOf(options, adapter),
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  });
  const runtime = await runtimeLoading;
  throwIfAborted(signal);
  onProgress?.({ ...sizeOf(files), phase: 'compile', label: 'Preparing the model' });
  return adapter ? onWebGpu(options, runtime, files, adapter) : onWasm(options, runtime, files);
}

async function takeAdapter(options: OnnxBackendOptions): Promise<GPUAdapter> {
  const probe = await probeGpu(options.gpu ? { gpu: options.gpu } : {});
  if (probe.status !== 'adapter') throw gpuError(probe);
  if (options.dtype === 'q4f16' && !probe.adapter.features.has('shader-f16')) {
    const message = 'Cannot run a q4f16 model on WebGPU: the adapter has no shader-f16; take the q4 model';
    throw new TokenglassError('missing-feature', message, { details: { feature: 'shader-f16' } });
  }
  return probe.adapter;
}

function dtypesOf({ dtype }: OnnxBackendOptions, adapter?: GPUAdapter): OnnxDtype[] {
  if (dtype) return [dtype];
  return adapter?.features.has('shader-f16') ? ['q4f16', 'q4'] : ['q4'];
}

async function onWasm(options: OnnxBackendOptions, runtime: OrtRuntime, files: OnnxModelFiles): Promise<OnnxBackend> {
  const guard = new DeviceGuard(options.watchdogMs ?? 60_000, (error) => runtime.declareStuck(error));
  const session = await makeSession(options, runtime, files, guard);
  const batch = await finishing(options, session, runtime, () => {
    options.onProgress?.({ ...sizeOf(files), phase: 'warm-up', label: 'Running first tokens' });
    return checkBatch(runtime.ort, session);
  });
  return backendOf(options, { runtime, session, guard, files, canBatch: batch.isRight });
}

/** First on the device as the adapter offers it; where that computes wrongly, on one without subgroups. */
async function onWebGpu(
  options: OnnxBackendOptions,
  runtime: OrtRuntime,
  files: OnnxModelFiles,
  adapter: GPUAdapter,
): Promise<OnnxBackend> {
  let lastCosine = Number.NaN;
  for (const withSubgroups of hasRightSubgroups(adapter) ? [true, false] : [false]) {
    // An adapter gives one device only.
    const fresh = withSubgroups || !hasRightSubgroups(adapter) ? adapter : await takeAdapter(options);
    const device = await requestOrtDevice(fresh, { withSubgroups });
    const guard = new DeviceGuard(options.watchdogMs ?? 60_000, (error) => runtime.declareStuck(error));
    watchDevice(device, guard, runtime);
    const session = await makeSession(options, runtime, files, guard, device);
    const { prefill, canBatch } = await finishing(options, session, runtime, async () => {
      options.onProgress?.({ ...sizeOf(files), phase: 'warm-up', label: 'Checking the GPU with a known prompt' });
      const check = await checkPrefill(session);
      if (!check.isRight) return { prefill: check, canBatch: false };
      return { prefill: check, canBatch: (await checkBatch(runtime.ort, session, device)).isRight };
    });
    const finished = { runtime, session, guard, files, device, canBatch };
    if (prefill.isRight) return backendOf(options, { ...finished, adapter: describeAdapter(fresh) });
    lastCosine = prefill.cosine;
    await session.release();
  }
  const message = 'Cannot run on WebGPU: a known prompt came out wrong on this GPU; take the engine onnx-wasm';
  throw new TokenglassError('numeric-fault', message, { details: { cosine: lastCosine } });
}

async function makeSession(
  options: OnnxBackendOptions,
  runtime: OrtRuntime,
  files: OnnxModelFiles,
  guard: DeviceGuard,
  device?: GPUDevice,
): Promise<OnnxSession> {
  const made = await guard.race(runtime.exclusive(() => createInferenceSession(runtime, files, device)));
  try {
    return new OnnxSession(runtime, made, guard, options.clock ?? systemClock, device);
  } catch (error) {
    guard.isReleased = true;
    await runtime.exclusive(() => made.release());
    device?.destroy();
    throw error;
  }
}

/** The last part of a load, after which nobody could abort it; what was made is given back if it fails. */
async function finishing<T>(
  { signal }: OnnxBackendOptions,
  session: OnnxSession,
  runtime: OrtRuntime,
  work: () => Promise<T>,
): Promise<T> {
  try {
    throwIfAborted(signal);
    const result = await runtime.exclusive(work);
    throwIfAborted(signal);
    return result;
  } catch (error) {
    await session.release();
    throw error;
  }
}

interface Finished {
  runtime: OrtRuntime;
  session: OnnxSession;
  guard: DeviceGuard;
  files: OnnxModelFiles;
  /** A known step of two sequences gave what each gives alone. */
  canBatch: boolean;
  device?: GPUDevice;
  adapter?: AdapterInfo;
}

function backendOf(options: OnnxBackendOptions, finished: Finished): OnnxBackend {
  const { runtime, session, guard, files, device, adapter } = finished;
  options.onProgress?.({ ...sizeOf(files), phase: 'ready', label: 'Ready' });
  return new OnnxBackend({
    runtime,
    session,
    guard,
    ...(device && { device }),
    ...(options.clock && { clock: options.clock }),
    info: {
      name: device ? 'onnx-webgpu' : 'onnx-wasm',
      version: `onnxruntime-web ${runtime.ort.env.versions.web ?? runtime.ort.env.versions.common}`,
      model: modelInfo(options, session, files),
      ...(adapter && { adapter }),
      ...(!device && { threads: runtime.threads }),
      capabilities: capabilitiesOf(finished),
    },
  });
}

function modelInfo(options: OnnxBackendOptions, session: OnnxSession, files: OnnxModelFiles): ModelInfo {
  const { config, graph } = files;
  const perToken = kvBytesPerToken(session.layout);
  const most = Math.min(config.contextTokens, Math.floor(MAX_KV_BYTES / perToken));
  return {
    id: options.source.id,
    architecture: config.modelType,
    quantization: files.dtype,
    layers: session.layout.layers,
    hiddenSize: config.hiddenSize,
    heads: config.heads,
    kvHeads: session.layout.kvHeads,
    headDim: session.layout.headDim,
    vocabSize: session.vocabSize,
    contextTokens: Math.min(options.contextTokens ?? most, config.contextTokens),
    parameters: graph.parameters - (config.tiesEmbeddings ? graph.embeddingParameters : 0),
    weightBytes: graph.weightBytes,
    kvBytesPerToken: perToken,
    fingerprint: files.fingerprint,
  };
}

function capabilitiesOf({ session, device, canBatch }: Finished): BackendCapabilities {
  // A step cannot be stopped once it runs, so it must not be long; beyond these, larger ones are hardly faster.
  const wanted = device ? 256 : 128;
  const logitsLimit = Math.min(MAX_LOGITS_BYTES, device?.limits.maxStorageBufferBindingSize ?? Infinity);
  const logitsRows = Math.max(1, Math.min(wanted, Math.floor(logitsLimit / (session.vocabSize * 4))));
  const maxBatch = canBatch ? Math.min(MAX_BATCH, logitsRows) : 1;
  return {
    maxBatch,
    maxStepTokens: session.keepsWantedLogitsOnly ? wanted : logitsRows,
    runAhead: 1,
    kvExport: true,
    logprobs: MAX_TOP_LOGPROBS,
    grammarMask: true,
    maxVerifyTokens: logitsRows > maxBatch ? logitsRows : 0,
  };
}

function sizeOf(files: OnnxModelFiles): { loadedBytes: number; totalBytes: number } {
  const bytes = files.externalData.reduce((sum, { data }) => sum + data.size, files.model.length);
  return { loadedBytes: bytes, totalBytes: bytes };
}

function throwIfAborted(signal?: AbortSignal): void {
  if (signal?.aborted) throw abortError(signal);
}
