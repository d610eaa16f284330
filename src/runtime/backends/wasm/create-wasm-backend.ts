import { abortError } from '../../../shared/errors.ts';
import type { LoadProgress } from '../../../shared/info.ts';
import { describeModel } from '../../models/architectures/describe-model.ts';
import type { ModelDescription } from '../../models/architectures/model-config.ts';
import { usesLongFactors } from '../../models/architectures/rope-frequencies.ts';
import { memoryLimit } from '../../models/fit-check.ts';
import { ByteReader } from '../../models/gguf/byte-reader.ts';
import type { GgufHeader } from '../../models/gguf/header.ts';
import { readGgufHeader } from '../../models/gguf/read-header.ts';
import type { ModelSource } from '../../models/source.ts';
import { kvFormat } from '../kv-format.ts';
import { KvBlocks } from '../kv/kv-blocks.ts';
import { Sequences } from '../kv/sequences.ts';
import { modelInfo } from '../model-info.ts';
import { MAX_TOP_LOGPROBS } from '../sampling/definition.ts';
import { checkShapes } from './check-shapes.ts';
import { KvPoolMemory } from './kv-pool-memory.ts';
import { CONTROL, KV_BLOCK } from './layout.ts';
import { loadWeights } from './load-weights.ts';
import { canShareMemory, createMemory, findSimd, instantiate, type SimdLevel } from './module.ts';
import { planFit, ropesOf, type WasmPlan } from './plan.ts';
import { writeProgram } from './program.ts';
import { SequenceSampler } from './sequence-sampler.ts';
import { StepCosts } from './step-costs.ts';
import { StepRunner } from './step-runner.ts';
import { ownWorkerUrl, startThreads, type ThreadPool } from './threads.ts';
import { WasmBackend } from './wasm-backend.ts';

export interface WasmBackendOptions {
  source: ModelSource;
  /** The GGUF file within the source. */
  path: string;
  /** Tokens that a sequence can hold. @default what the model was trained for, at most 4096, and what fits */
  contextTokens?: number;
  /** Sequences that may decode in one step. @default 8 */
  maxBatch?: number;
  /** Rows of a prefill chunk. @default 128 */
  maxStepTokens?: number;
  /** Tokens that a step can sample where it verifies drafts, all sequences together; 0 leaves that out. @default 16 */
  maxVerifyTokens?: number;
  /** Tokens of KV that all sequences share, never less than one context. @default as many as `maxBatch` contexts have, within 256 MB of spare */
  kvTokens?: number;
  /** Threads, the calling one included. @default 1 without cross-origin isolation or a worker, else half of the processors (both of two), at most 8 */
  threads?: number;
  /** Script that a thread runs; it calls `serveThread`. @default that of the worker this runs in; one thread where it runs in none */
  threadUrl?: string;
  /** SIMD to be used. @default the best there is */
  simd?: SimdLevel;
  /** Called with the header once it is read, before the weights: the tokenizer is made of it. */
  onHeader?: (header: GgufHeader) => void;
  onProgress?: (progress: LoadProgress) => void;
  signal?: AbortSignal;
}

export const WASM_BACKEND_VERSION = '0.1.0';

const MAX_THREADS = 8;

/**
 * Loads a GGUF model and makes a backend that runs on the CPU, in WebAssembly that is written while it loads. Weights stream into its memory and
 * are never whole in JavaScript.
 *
 * @throws TokenglassError `missing-feature` (no SIMD), `model-not-found`, `model-invalid`, `model-unsupported`, `model-too-large`, `network`;
 *   `AbortError`
 */
export async function createWasmBackend(options: WasmBackendOptions): Promise<WasmBackend> {
  const { onProgress, signal } = options;
  const threads = threadsOf(options);
  const simd = options.simd ?? findSimd(threads > 1);
  let reader: ByteReader | undefined;
  let pool: ThreadPool | undefined;
  try {
    const opened = await options.source.open(options.path, signal ? { signal } : {});
    reader = new ByteReader(opened.stream);
    const { totalBytes } = opened;
    const header = await readGgufHeader(reader, totalBytes === undefined ? {} : { totalBytes });
    options.onHeader?.(header);
    const description = describeModel(header);
    checkShapes(description.config);
    const plan = planOf(description, options, { threads, simd });
    const memory = createMemory(plan.totalBytes, threads > 1, options.source.id);
    const kernels = { isRelaxed: simd === 'relaxed', isShared: threads > 1 };
    new Int32Array(memory.buffer)[CONTROL.threads / 4] = threads;
    if (threads > 1)
      pool = await startThreads(threadUrlOf(options)!, threads - 1, {
        memory,
        options: { ...kernels, mayBlock: true },
      });
    const fingerprint = await loadWeights(memory.buffer, reader, description, plan, {
      signal,
      onBytes: (bytes) =>
        onProgress?.({
          phase: 'download',
          loadedBytes: header.dataOffset + bytes,
          totalBytes: header.endOffset,
          label: 'Loading weights',
        }),
    });
    const exports = await instantiate({ ...kernels, mayBlock: ownWorkerUrl() !== undefined }, memory);
    const backend = assemble({ header, description, plan, memory, fingerprint, exports, pool }, options);
    onProgress?.({ phase: 'ready', loadedBytes: header.endOffset, totalBytes: header.endOffset, label: 'Ready' });
    return backend;
  } catch (error) {
    await reader?.cancel().catch(() => undefined);
    pool?.end();
    throw signal?.aborted ? abortError(signal) : error;
  }
}

/** @throws RangeError for a senseless number */
function threadsOf(options: WasmBackendOptions): number {
  const { threads } = options;
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1))
    throw new RangeError(`Cannot run on ${threads} threads: give a whole number above 0`);
  if (!canShareMemory() || threadUrlOf(options) === undefined) return 1;
  const { hardwareConcurrency = 1 } = (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator ?? {};
  // A processor of a browser is often half a core, and two threads of one core are hardly faster than one.
  const cores = hardwareConcurrency <= 2 ? hardwareConcurrency : Math.ceil(hardwareConcurrency / 2);
  return Math.min(threads ?? cores, MAX_THREADS);
}

const threadUrlOf = ({ threadUrl }: WasmBackendOptions): string | undefined => threadUrl ?? ownWorkerUrl();

function planOf(
  description: ModelDescription,
  options: WasmBackendOptions,
  { threads, simd }: { threads: number; simd: SimdLevel },
): WasmPlan {
  const { maxBatch = 8, maxStepTokens = 128, maxVerifyTokens = 16, contextTokens, kvTokens } = options;
  return planFit(description, {
    model: options.source.id,
    maxBatch,
    maxStepTokens,
    maxSamples: Math.max(maxBatch, maxVerifyTokens),
    slots: 2 * maxBatch,
    threads,
    isRelaxed: simd === 'relaxed',
    contextTokens,
    kvTokens,
    memoryBytes: memoryLimit(true) ?? Infinity,
  });
}

interface Loaded {
  header: GgufHeader;
  description: ModelDescription;
  plan: WasmPlan;
  memory: WebAssembly.Memory;
  fingerprint: string;
  exports: Awaited<ReturnType<typeof instantiate>>;
  pool: ThreadPool | undefined;
}

function assemble(
  { header, description, plan, memory, fingerprint, exports, pool }: Loaded,
  options: WasmBackendOptions,
): WasmBackend {
  const { buffer } = memory;
  const { config } = description;
  const { maxBatch = 8, maxVerifyTokens = 16 } = options;
  const { contextTokens, maxStepTokens, slots } = plan;
  const views = {
    bytes: new Uint8Array(buffer),
    halves: new Uint16Array(buffer),
    ints: new Int32Array(buffer),
    floats: new Float32Array(buffer),
  };
  views.ints[CONTROL.scratch / 4] = plan.scratch;
  views.ints[CONTROL.scratchBytes / 4] = plan.scratchBytes;
  const program = writeProgram(buffer, description, plan);
  const runner = new StepRunner(plan, program, exports, views, config);
  const kvMemory = new KvPoolMemory(views.bytes, plan);
  const blocks = new KvBlocks(plan.kvBlocks);
  const ropes = [...ropesOf(config).values()];
  return new WasmBackend({
    info: {
      name: 'wasm',
      version: WASM_BACKEND_VERSION,
      threads: plan.threads,
      model: modelInfo(header, description, {
        id: options.source.id,
        contextTokens,
        weightBytes: plan.weightBytes,
        fingerprint,
        kvBytesPerToken: kvMemory.blockBytes / KV_BLOCK,
      }),
      capabilities: {
        maxBatch,
        maxStepTokens,
        runAhead: 1,
        kvExport: true,
        logprobs: MAX_TOP_LOGPROBS,
        grammarMask: true,
        maxVerifyTokens,
      },
    },
    runner,
    sampler: new SequenceSampler(config.vocabSize),
    sequences: new Sequences(blocks, runner, (from, to) => kvMemory.copy(from, to), { contextTokens, slots }),
    blocks,
    kvMemory,
    kvFormat: kvFormat('wasm/1 f32', config, {
      simd: plan.isRelaxed,
      longFactors: ropes.map((rope) => usesLongFactors(rope, contextTokens)),
    }),
    costs: new StepCosts(description, plan),
    lost: pool?.lost ?? new Promise(() => undefined),
    end: () => pool?.end(),
  });
}
