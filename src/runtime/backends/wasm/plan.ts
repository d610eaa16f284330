import { TokenglassError } from '../../../shared/errors.ts';
import { blockNeeds } from '../../blocks/block-needs.ts';
import { ropeKey } from '../../blocks/attention/rope-tables.ts';
import type { ModelConfig, ModelDescription, RopeConfig } from '../../models/architectures/model-config.ts';
import { smallerModel } from '../../models/fit-check.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { align, CONTROL, KV_BLOCK, OPERATION_BYTES, ROW_BYTES, TASK_ROWS } from './layout.ts';
import { recordsStride, type Rows } from './program.ts';
import { planMatrix, type WasmMatrix } from './weights.ts';

export interface PlanSizes {
  contextTokens: number;
  kvBlocks: number;
  slots: number;
  maxStepTokens: number;
  /** Rows of logits of a step. */
  maxSamples: number;
  threads: number;
  isRelaxed: boolean;
}

/** Where everything lies in the one memory: addresses in bytes. */
export interface WasmPlan extends PlanSizes {
  program: number;
  mostOperations: number;
  /** Token rows of a step: `ROW_BYTES` each. */
  table: number;
  /** Rows whose logits are wanted. */
  index: number;
  /** Block tables of the sequences: `maxBlocks` words a slot. */
  blockTables: number;
  maxBlocks: number;
  x: Rows;
  normed: Rows;
  finalNormed: Rows;
  records: Rows;
  /** Queries, keys and values. */
  projected: Rows;
  mixed: Rows;
  /** Gate, then up. */
  inner: Rows;
  gated: Rows;
  /** What a block gives, where a norm comes after it. */
  given: Rows;
  logits: Rows;
  scratch: number;
  scratchBytes: number;
  ropes: ReadonlyMap<string, number>;
  vectors: ReadonlyMap<GgufTensorInfo, number>;
  matrices: ReadonlyMap<GgufTensorInfo, WasmMatrix>;
  embedding: WasmMatrix;
  output: WasmMatrix;
  /** Of each block with KV, by its number: where its keys and values begin, and bytes of a KV block of one of them. */
  kv: ReadonlyMap<number, { keys: number; values: number; bytes: number }>;
  weightBytes: number;
  totalBytes: number;
}

const PAGE_BYTES = 65_536;
/** What 32-bit addresses reach. */
const MOST_BYTES = 2 ** 32 - PAGE_BYTES;
const MOST_OPERATIONS_OF_BLOCK = 10;

/** Gives everything its place. */
export function planMemory(description: ModelDescription, sizes: PlanSizes): WasmPlan {
  const { config, layers, weights } = description;
  const { maxStepTokens, maxSamples, slots, contextTokens, kvBlocks, threads, isRelaxed } = sizes;
  let end: number = CONTROL.bytes;
  const take = (bytes: number): number => {
    const at = end;
    end = align(at + bytes, 64);
    return at;
  };
  const rows = (count: number, numbers: number): Rows => {
    const stride = align(numbers, 32) * 4;
    return { at: take(count * stride), stride };
  };
  const blocks = layers.flatMap((layer) => layer.blocks);
  const needs = blocks.map(({ config: block }) => blockNeeds(block));
  const most = (of: (need: (typeof needs)[number]) => number): number =>
    needs.reduce((best, need) => Math.max(best, of(need)), 0);
  const innerCols = align(
    most(({ inner }) => inner),
    TASK_ROWS,
  );
  const widest = Math.max(
    config.hiddenSize,
    most(({ mixed }) => mixed),
    innerCols,
  );
  const mostOperations = blocks.length * MOST_OPERATIONS_OF_BLOCK + 2;
  const maxBlocks = Math.ceil(contextTokens / KV_BLOCK);
  const scratchBytes = align((maxBlocks + 1) * KV_BLOCK * 4, 64);
  const scratchParts = {
    program: take(mostOperations * OPERATION_BYTES),
    table: take(maxStepTokens * ROW_BYTES),
    index: take(maxSamples * 4),
    blockTables: take(slots * maxBlocks * 4),
    x: rows(maxStepTokens, config.hiddenSize),
    normed: rows(maxStepTokens, config.hiddenSize),
    finalNormed: rows(maxSamples, config.hiddenSize),
    projected: rows(
      maxStepTokens,
      most(({ projected }) => projected),
    ),
    mixed: rows(
      maxStepTokens,
      most(({ mixed }) => mixed),
    ),
    inner: rows(maxStepTokens, 2 * innerCols),
    gated: rows(maxStepTokens, innerCols),
    given: rows(maxStepTokens, config.hiddenSize),
    logits: rows(maxSamples, config.vocabSize),
    scratch: take(scratchBytes * threads),
  };
  const stride = recordsStride(widest, isRelaxed);
  const records = { at: take(Math.max(maxStepTokens, maxSamples) * stride), stride };
  const ropes = new Map<string, number>();
  for (const rope of ropesOf(config).values()) ropes.set(ropeKey(rope), take(maxBlocks * KV_BLOCK * rope.dims * 4));
  const vectors = new Map<GgufTensorInfo, number>();
  const matrices = new Map<GgufTensorInfo, WasmMatrix>();
  const weightsAt = end;
  for (const tensor of tensorsOf(description)) {
    if (tensor.shape.length < 2) vectors.set(tensor, take(align(tensor.shape[0]!, 32) * 4));
    else {
      const matrix = planMatrix(tensor);
      matrices.set(tensor, { ...matrix, address: take(matrix.bytes) });
    }
  }
  const weightBytes = end - weightsAt;
  const kv = new Map<number, { keys: number; values: number; bytes: number }>();
  for (const [index, { kv: need }] of needs.entries()) {
    if (!need) continue;
    const bytes = need.heads * need.headDim * KV_BLOCK * 4;
    kv.set(index, { keys: take(kvBlocks * bytes), values: take(kvBlocks * bytes), bytes });
  }
  const embedding = matrices.get(weights.tokenEmbedding)!;
  return {
    ...sizes,
    ...scratchParts,
    ...{ mostOperations, maxBlocks, scratchBytes, records, ropes, vectors, matrices, embedding, kv, weightBytes },
    output: weights.output ? matrices.get(weights.output)! : embedding,
    totalBytes: align(end, PAGE_BYTES),
  };
}

/** Distinct rotary configurations. */
export function ropesOf({ layers }: ModelConfig): Map<string, RopeConfig> {
  const ropes = layers.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.kind === 'attention' && block.rope ? [block.rope] : [])),
  );
  return new Map(ropes.map((rope) => [ropeKey(rope), rope]));
}

/** All tensors that a model uses, each once. */
export function tensorsOf({ layers, weights }: ModelDescription): Set<GgufTensorInfo> {
  const tensors = new Set<GgufTensorInfo>(Object.values<GgufTensorInfo>({ ...weights }));
  for (const { blocks } of layers)
    for (const block of blocks)
      for (const tensor of Object.values<GgufTensorInfo>({ ...block.weights })) tensors.add(tensor);
  return tensors;
}

export interface FitRequest extends Omit<PlanSizes, 'contextTokens' | 'kvBlocks'> {
  /** For messages. */
  model: string;
  contextTokens?: number | undefined;
  maxBatch: number;
  /** KV for all sequences together. */
  kvTokens?: number | undefined;
  memoryBytes: number;
}

const DEFAULT_CONTEXT = 4096;
/** KV beyond one full context, for more sequences. */
const SPARE_KV_BYTES = 256 * 2 ** 20;

/**
 * Decides how long a context can be and how many KV blocks there are, and plans the memory for them.
 * @throws TokenglassError `model-too-large` with neededBytes, availableBytes and largestContextTokens; RangeError for a senseless context
 */
export function planFit(description: ModelDescription, request: FitRequest): WasmPlan {
  const { config } = description;
  const wanted = request.contextTokens ?? Math.min(config.contextTokens, DEFAULT_CONTEXT);
  if (!(Number.isInteger(wanted) && wanted > 0))
    throw new RangeError(`Cannot plan a context of ${wanted} tokens: give a whole number above 0`);
  const availableBytes = Math.min(request.memoryBytes, MOST_BYTES);
  const bytesOf = (contextTokens: number, kvBlocks = Math.ceil(contextTokens / KV_BLOCK)): number =>
    planMemory(description, { ...request, contextTokens, kvBlocks }).totalBytes;
  const largest = largestContext(config.contextTokens, (tokens) => bytesOf(tokens) <= availableBytes);
  const context = request.contextTokens === undefined ? Math.min(wanted, largest) : wanted;
  if (context > largest || largest === 0)
    throw tooLarge(request, { context, largest, availableBytes, neededBytes: bytesOf(Math.max(context, KV_BLOCK)) });
  const one = Math.ceil(context / KV_BLOCK);
  const blockBytes = (bytesOf(context, one + 64) - bytesOf(context, one)) / 64;
  const spareBytes = Math.min(SPARE_KV_BYTES, availableBytes - bytesOf(context, one));
  const enough = request.kvTokens === undefined ? Infinity : Math.max(one, Math.ceil(request.kvTokens / KV_BLOCK));
  const spare = blockBytes > 0 ? Math.max(0, Math.floor(spareBytes / blockBytes) - 1) : 0;
  const kvBlocks = Math.min(enough, one + spare, one * request.maxBatch);
  return planMemory(description, { ...request, contextTokens: context, kvBlocks });
}

/** In whole blocks, at most what the model was trained for; 0: none fits. */
function largestContext(most: number, fits: (tokens: number) => boolean): number {
  if (fits(most)) return most;
  let [low, high] = [0, Math.floor(most / KV_BLOCK)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle * KV_BLOCK)) low = middle;
    else high = middle - 1;
  }
  return low * KV_BLOCK;
}

function tooLarge(
  { model }: FitRequest,
  sizes: { context: number; largest: number; availableBytes: number; neededBytes: number },
): TokenglassError {
  const { context, largest, availableBytes, neededBytes } = sizes;
  const smaller = largest > 0 ? undefined : smallerModel(model, { availableBytes, ownBytes: neededBytes });
  const advice =
    largest > 0
      ? `take at most ${largest} tokens`
      : smaller === undefined
        ? 'take a smaller model'
        : `take "${smaller}" instead`;
  return new TokenglassError(
    'model-too-large',
    `Cannot load ${model} with a context of ${context} tokens: it needs ${neededBytes} bytes, and WebAssembly has ${availableBytes} here; ${advice}`,
    {
      details: {
        ...{ model, neededBytes, availableBytes, largestContextTokens: largest },
        ...(smaller !== undefined && { smallerModel: smaller }),
      },
    },
  );
}
