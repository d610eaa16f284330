import { abortError } from '../../../shared/errors.ts';
import type { LoadProgress } from '../../../shared/info.ts';
import { describeModel } from '../../models/architectures/describe-model.ts';
import type { ModelConfig, ModelDescription, RopeConfig } from '../../models/architectures/model-config.ts';
import { usesLongFactors } from '../../models/architectures/rope-frequencies.ts';
import { ByteReader } from '../../models/gguf/byte-reader.ts';
import type { GgufHeader } from '../../models/gguf/header.ts';
import { readGgufHeader } from '../../models/gguf/read-header.ts';
import { checkFit } from '../../models/fit-check.ts';
import type { ModelSource } from '../../models/source.ts';
import { KV_BLOCK_TOKENS } from '../backend.ts';
import { kvFormat } from '../kv-format.ts';
import { MAX_TOP_LOGPROBS } from '../sampling/definition.ts';
import { acquireDevice, withErrorScopes, type GpuContext, type GpuDeviceOptions } from './device.ts';
import { KernelCompiler } from './kernels/pipeline.ts';
import { createSampleKernels } from './kernels/sample/sample-kernels.ts';
import { KvBlocks } from '../kv/kv-blocks.ts';
import { KvMemory } from './kv-memory.ts';
import { modelInfo } from '../model-info.ts';
import { tuneTiles } from './plan/autotune.ts';
import { tuneChunks, type PrefillPrecision } from './plan/autotune-chunks.ts';
import type { BoundBlock } from './plan/gpu-block.ts';
import { createBlockRoom, createPlanBuffers } from './plan/buffers.ts';
import { planMemory, type MemoryPlan } from './plan/memory-plan.ts';
import { ModelPlan } from './plan/model-plan.ts';
import { checkModel, modelSizes, type ModelSizes } from './plan/model-sizes.ts';
import type { PlanParts } from './plan/plan-parts.ts';
import { StepCosts } from './plan/step-costs.ts';
import { browserTuningStore, type TuningStore } from './plan/tuning.ts';
import { ReadbackRing } from './readback-ring.ts';
import { selfCheck } from './self-check.ts';
import { LayerRows } from './layer-rows.ts';
import { Sequences } from '../kv/sequences.ts';
import { States } from './states.ts';
import { StepWriter, stepLayout } from './step-layout.ts';
import { StepTimer, TIMER_BYTES } from './step-timer.ts';
import { WebGpuBackend } from './webgpu-backend.ts';
import { createMatrices, streamWeights, type LoadedWeights } from './weights/load-weights.ts';
import { planWeights, type WeightPlan } from './weights/weight-plan.ts';

export interface WebGpuBackendOptions extends GpuDeviceOptions {
  source: ModelSource;
  /** The GGUF file within the source. */
  path: string;
  /** Tokens that a sequence can hold. @default what the model was trained for, at most 4096, and what fits */
  contextTokens?: number;
  /** Sequences that may decode in one step, 1 to 8. @default 8 */
  maxBatch?: number;
  /** Steps that may be in flight at once, 1 to 4. @default 4 */
  runAhead?: number;
  /** Rows of a prefill chunk, a multiple of 64. @default 256 */
  maxStepTokens?: number;
  /** Tokens that a step can sample where it verifies drafts, all sequences together; 0 leaves that out. @default 16 */
  maxVerifyTokens?: number;
  /** Tokens of KV that all sequences share, never less than one context. @default as many as `maxBatch` contexts have, within 256 MB of spare */
  kvTokens?: number;
  /** Bytes on the device that weights, KV and scratch may take. @default no limit but those of single buffers */
  memoryBudgetBytes?: number;
  /** How matrices of a chunk are computed: `tiled` in workgroup memory, or a few `rows` at a time. @default `tiled` on hardware, `rows` on a software adapter */
  chunks?: 'tiled' | 'rows';
  /** Arithmetic of `tiled` chunks. @default 'exact' */
  prefillPrecision?: PrefillPrecision;
  /** Keeps which kernel variants are fastest on this adapter. @default in IndexedDB, where there is one; else measured anew at each load */
  tuning?: TuningStore;
  /** Measure `gpuMs` of each step, where the device can. @default true */
  timestamps?: boolean;
  /** Called with the header once it is read, before the weights: the tokenizer is made of it. */
  onHeader?: (header: GgufHeader) => void;
  onProgress?: (progress: LoadProgress) => void;
  signal?: AbortSignal;
}

export const WEBGPU_BACKEND_VERSION = '0.1.0';

const MAX_BATCH = 8;
/** States of all open sequences together, as far as the batch can be chosen. */
const MOST_STATE_BYTES = 256 * 2 ** 20;
const MAX_RUN_AHEAD = 4;
const FUSED_ROWS = [1, 2, 4, 8] as const;
/** As many as two groups of the fused rows: a batch where each has a draft, or one sequence with many. Each takes two rows of logits. */
const MAX_VERIFY_TOKENS = 16;
/** Up to this context one workgroup per group of heads does; beyond, it is split, which takes one more dispatch a layer. */
const SPLIT_TOKENS = 512;
const MAX_SPLITS = 32;

/**
 * Loads a GGUF model and makes a backend of our own WGSL kernels. Weights stream to the device and are never whole in JS.
 *
 * @throws TokenglassError `no-webgpu`, `insecure-context`, `no-adapter`, `fallback-adapter`, `model-not-found`, `model-invalid`,
 *   `model-unsupported`, `model-too-large`, `network`, `device-lost`, `watchdog`, `numeric-fault`; `AbortError`
 */
export async function createWebGpuBackend(options: WebGpuBackendOptions): Promise<WebGpuBackend> {
  const gpu = await acquireDevice(options);
  let reader: ByteReader | undefined;
  try {
    const opened = await options.source.open(options.path, options.signal ? { signal: options.signal } : {});
    reader = new ByteReader(opened.stream);
    const { totalBytes } = opened;
    const header = await readGgufHeader(reader, totalBytes === undefined ? {} : { totalBytes });
    options.onHeader?.(header);
    const backend = await build(gpu, reader, header, options);
    await selfCheck(backend, options.prefillPrecision);
    options.onProgress?.({
      phase: 'ready',
      loadedBytes: header.endOffset,
      totalBytes: header.endOffset,
      label: 'Ready',
    });
    return backend;
  } catch (error) {
    await reader?.cancel().catch(() => undefined);
    gpu.destroy();
    throw options.signal?.aborted ? abortError(options.signal) : error;
  }
}

async function build(
  gpu: GpuContext,
  reader: ByteReader,
  header: GgufHeader,
  options: WebGpuBackendOptions,
): Promise<WebGpuBackend> {
  const description = describeModel(header);
  checkModel(description.config);
  const { limits } = gpu.device;
  const maxBindingBytes = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  const weights = planWeights(description, { maxBindingBytes });
  const sizes = modelSizes(description.config);
  const {
    maxBatch = batchFor(sizes),
    maxStepTokens = 256,
    maxVerifyTokens = MAX_VERIFY_TOKENS,
    memoryBudgetBytes,
  } = options;
  const model = options.source.id;
  checkFit(
    { model, weightBytes: weights.bytes, largestBufferBytes: weights.largestBytes },
    { maxBufferBytes: maxBindingBytes, ...(memoryBudgetBytes !== undefined && { memoryBytes: memoryBudgetBytes }) },
  );
  const slots = 2 * maxBatch;
  const memory = planMemory(description.config, {
    model,
    weightBytes: weights.bytes,
    maxBatch,
    maxSamples: Math.max(maxBatch, maxVerifyTokens),
    maxStepTokens,
    slots,
    contextTokens: options.contextTokens,
    kvTokens: options.kvTokens,
    budgetBytes: memoryBudgetBytes,
    maxBindingBytes,
  });
  const { loaded, fingerprint } = await load(gpu, reader, header, description, weights, options);
  options.onProgress?.({
    phase: 'compile',
    loadedBytes: header.endOffset,
    totalBytes: header.endOffset,
    label: 'Compiling kernels',
  });
  return assemble(
    gpu,
    { header, description, weights, loaded, memory, fingerprint },
    { maxBatch, maxStepTokens, maxVerifyTokens, slots },
    options,
  );
}

async function load(
  gpu: GpuContext,
  reader: ByteReader,
  header: GgufHeader,
  description: ModelDescription,
  weights: WeightPlan,
  { onProgress, signal }: WebGpuBackendOptions,
): Promise<{ loaded: LoadedWeights; fingerprint: string }> {
  const matrices = await withErrorScopes(gpu.device, 'room for the weights', () => createMatrices(gpu, weights));
  return streamWeights(gpu, reader, description, matrices, {
    signal,
    onBytes: (bytes) =>
      onProgress?.({
        phase: 'download',
        loadedBytes: header.dataOffset + bytes,
        totalBytes: header.endOffset,
        label: 'Loading weights',
      }),
  });
}

/** Two pages of state for each open sequence, of which there are two for each of a batch: a model with large states takes fewer at once. */
function batchFor({ stateBytes }: ModelSizes): number {
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(MOST_STATE_BYTES / (4 * stateBytes))));
}

/** Row counts that fused steps are made for: up to the most that decode or are verified; by-row chunks take 8 at a time, and a software adapter compiles slowly. */
function fusedRowsFor(most: number, chunks: 'tiled' | 'rows'): number[] {
  if (chunks === 'rows') return [1, 8];
  return FUSED_ROWS.filter((_, i) => i === 0 || FUSED_ROWS[i - 1]! < most);
}

interface Loaded {
  header: GgufHeader;
  description: ModelDescription;
  weights: WeightPlan;
  loaded: LoadedWeights;
  memory: MemoryPlan;
  fingerprint: string;
}

async function assemble(
  gpu: GpuContext,
  { header, description, weights, loaded, memory, fingerprint }: Loaded,
  limits: { maxBatch: number; maxStepTokens: number; maxVerifyTokens: number; slots: number },
  options: WebGpuBackendOptions,
): Promise<WebGpuBackend> {
  const { device } = gpu;
  const { config } = description;
  const { maxBatch, maxStepTokens, maxVerifyTokens, slots } = limits;
  const { contextTokens, kvBlocks, statePages } = memory;
  const sizes = modelSizes(config);
  const chunks = options.chunks ?? (gpu.abilities.unroll ? 'tiled' : 'rows');
  const fusedRows = fusedRowsFor(Math.max(maxBatch, maxVerifyTokens), chunks);
  const batchRows = fusedRows.at(-1)!;
  const maxSamples = Math.ceil(Math.max(maxBatch, maxVerifyTokens) / batchRows) * batchRows;
  const layout = stepLayout({
    maxSamples,
    maxStepTokens,
    slots,
    maxBlocks: Math.ceil(contextTokens / 32),
    maxRuns: sizes.stateBytes > 0 ? maxBatch : 0,
  });
  const { buffers, blocks: bound } = await withErrorScopes(device, 'room for the KV cache', () => {
    const room = createBlockRoom(gpu, description, loaded, { contextTokens, kvBlocks, statePages });
    return {
      blocks: weights.blocks.map((block) => block.bind(room)),
      buffers: createPlanBuffers(gpu, description, room, layout, {
        maxBatch: batchRows,
        maxSamples,
        rows: maxStepTokens,
        maxSplits: Math.min(MAX_SPLITS, Math.ceil(contextTokens / (SPLIT_TOKENS / 2))),
        slots,
        contextTokens,
      }),
    };
  });
  const compiler = new KernelCompiler(device);
  const sampler = await createSampleKernels(gpu, compiler, {
    vocabSize: config.vocabSize,
    maxRows: maxSamples,
    maxSlots: slots,
    maxTokens: contextTokens,
    logits: buffers.logits,
    logitsStride: sizes.logitsStride,
    steps: { buffer: buffers.step, offset: layout.samplesAt * 4 },
  });
  const { matrices } = loaded;
  const tuning = {
    gpu,
    compiler,
    weights,
    matrices,
    buffers,
    store: options.tuning ?? browserTuningStore(),
    version: WEBGPU_BACKEND_VERSION,
  };
  const tile = await tuneTiles(tuning);
  const { prefillPrecision = 'exact' } = options;
  const matmulTile = chunks === 'tiled' ? await tuneChunks(tuning, prefillPrecision, maxStepTokens) : undefined;
  const parts: PlanParts = {
    gpu,
    compiler,
    config,
    sizes,
    contextTokens,
    splits: contextTokens > SPLIT_TOKENS,
    matrices,
    buffers,
    layout,
    tile,
    ...(matmulTile && { matmulTile }),
  };
  const plan = await ModelPlan.create(parts, {
    fusedRows,
    weights,
    blocks: bound,
    scales: config.layers.flatMap(({ blocks: own }) => own.map(({ branch }) => branch.scale)),
    sampler,
  });
  const writer = new StepWriter(layout);
  const kvMemory = new KvMemory(
    gpu,
    bound.flatMap(({ kv }) => kv),
  );
  const blocks = new KvBlocks(kvBlocks);
  const state = createStates(gpu, bound, writer, sizes, { statePages, slots });
  const copyBlock = (from: number, to: number): void => kvMemory.copy(from, to);
  // A step of a model with a table by token needs to know its tokens on this side.
  const mostAhead = loaded.layerTable ? 1 : MAX_RUN_AHEAD;
  const runAhead = Math.min(Math.max(1, Math.floor(options.runAhead ?? mostAhead)), mostAhead);
  const useTimer = (options.timestamps ?? true) && gpu.abilities.timestamps;
  return new WebGpuBackend({
    gpu,
    info: {
      name: 'webgpu',
      version: WEBGPU_BACKEND_VERSION,
      adapter: gpu.adapter,
      model: modelInfo(header, description, {
        id: options.source.id,
        contextTokens,
        weightBytes: weights.bytes,
        fingerprint,
        kvBytesPerToken: modelSizes(config).kvBytesPerToken,
      }),
      capabilities: {
        maxBatch,
        maxStepTokens,
        runAhead,
        kvExport: true,
        logprobs: MAX_TOP_LOGPROBS,
        grammarMask: true,
        maxVerifyTokens,
      },
    },
    plan,
    costs: new StepCosts(config, weights),
    sampler,
    sequences: new Sequences(blocks, writer, copyBlock, { contextTokens, slots }, state?.states),
    ...state,
    ...(buffers.history && { history: buffers.history }),
    ...(loaded.layerTable && {
      layerRows: new LayerRows(loaded.layerTable, buffers.layerTable!, sizes.layerStride, maxStepTokens),
    }),
    blocks,
    kvMemory,
    // The number goes up when kernels lay out keys or values differently.
    kvFormat: kvFormat(
      `webgpu/1 f16 ${KV_BLOCK_TOKENS} tokens of ${kvMemory.blockBytes / KV_BLOCK_TOKENS} bytes, state of ${sizes.stateBytes}`,
      config,
      {
        prefillPrecision,
        longFactors: ropesOf(config).map((rope) => usesLongFactors(rope, contextTokens)),
      },
    ),
    writer,
    stepBuffer: buffers.step,
    ring: new ReadbackRing(gpu, runAhead, maxSamples * sampler.recordBytes + TIMER_BYTES),
    ...(useTimer && { timer: new StepTimer(device, gpu.memory) }),
    tileRows: sizes.tileRows,
    splitTokens: SPLIT_TOKENS,
    maxSplits: MAX_SPLITS,
  });
}

const ropesOf = ({ layers }: ModelConfig): RopeConfig[] =>
  layers
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => (block.kind === 'attention' && block.rope ? [block.rope] : []));
/** What keeps the states of sequences; undefined in a model whose only state is KV. */
function createStates(
  gpu: GpuContext,
  blocks: readonly BoundBlock[],
  writer: StepWriter,
  { stateBytes, kvBytesPerToken }: ModelSizes,
  { statePages: count, slots }: { statePages: number; slots: number },
): { states: States; statePages: KvBlocks; stateMemory: KvMemory } | undefined {
  if (stateBytes === 0) return undefined;
  const statePages = new KvBlocks(count);
  return {
    statePages,
    states: new States(statePages, writer, { slots, everyBlock: stateBytes <= kvBytesPerToken * KV_BLOCK_TOKENS }),
    stateMemory: new KvMemory(
      gpu,
      blocks.flatMap(({ state }) => (state ? [state] : [])),
    ),
  };
}
