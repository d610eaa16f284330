import { TokenglassError } from '../../../../shared/errors.ts';
import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { smallerModel } from '../../../models/fit-check.ts';
import { KV_BLOCK } from '../../../blocks/attention/webgpu/attention.ts';
import { modelSizes } from './model-sizes.ts';

export interface MemoryRequest {
  /** What people call the model, for the message. */
  model: string;
  weightBytes: number;
  maxBatch: number;
  /** Rows of logits of a step. */
  maxSamples: number;
  maxStepTokens: number;
  /** Sequences open at once. */
  slots: number;
  /** Context that the caller insists on. @default what fits, at most 4096 and what the model was trained for */
  contextTokens?: number | undefined;
  /** KV that the caller thinks enough for all sequences together; one full context is the least. @default room for `maxBatch` contexts, within reason */
  kvTokens?: number | undefined;
  /** Bytes that all of it may take. @default no limit but those of single buffers */
  budgetBytes?: number | undefined;
  /** The device's limit of one binding. */
  maxBindingBytes: number;
}

export interface MemoryPlan {
  contextTokens: number;
  /** KV blocks of the pool that all sequences share. */
  kvBlocks: number;
  kvBytes: number;
  /** Pages of state that is no KV: an empty one, two for each open sequence, and those kept for later. */
  statePages: number;
  /** Activations, logits, rotary tables and sampling state. */
  scratchBytes: number;
  totalBytes: number;
}

const DEFAULT_CONTEXT = 4096;
/** KV beyond one full context that the pool has for more sequences, if it comes cheap. */
const SPARE_KV_BYTES = 256 * 2 ** 20;
/** States that are kept at ends of KV blocks. */
const SPARE_STATE_BYTES = 96 * 2 ** 20;

/**
 * Decides, before anything is allocated, how long a context can be and how many KV blocks there are.
 * @throws TokenglassError `model-too-large` with neededBytes, availableBytes and largestContextTokens, and where no context fits the name of
 *   a smaller model of the catalog (smallerModel); RangeError for a senseless context
 */
export function planMemory(config: ModelConfig, request: MemoryRequest): MemoryPlan {
  const wanted = request.contextTokens ?? Math.min(config.contextTokens, DEFAULT_CONTEXT);
  if (!(Number.isInteger(wanted) && wanted > 0)) {
    throw new RangeError(`Cannot plan a context of ${wanted} tokens: give a whole number above 0`);
  }
  checkStates(config, request);
  const largest = largestContext(config, request);
  const context = request.contextTokens === undefined ? Math.min(wanted, largest) : wanted;
  if (context > largest || largest < KV_BLOCK) throw tooLarge(config, request, context, largest);
  const kvBlocks = poolBlocks(config, request, context);
  const { kvBytesPerToken } = modelSizes(config);
  const scratchBytes = scratchOf(config, request, context);
  const kvBytes = kvBlocks * KV_BLOCK * kvBytesPerToken;
  return {
    contextTokens: context,
    kvBlocks,
    kvBytes,
    statePages: statePagesOf(config, request, blocksOf(context)),
    scratchBytes,
    totalBytes: request.weightBytes + kvBytes + scratchBytes,
  };
}

function tooLarge(config: ModelConfig, request: MemoryRequest, context: number, largest: number): TokenglassError {
  const { model, budgetBytes } = request;
  const rounded = Math.max(context, KV_BLOCK);
  const neededBytes = totalOf(config, request, rounded, blocksOf(rounded));
  const availableBytes = budgetBytes ?? largestBytes(config, request, largest);
  const isContext = largest >= KV_BLOCK;
  const smaller = isContext ? undefined : smallerModel(model, { availableBytes, ownBytes: neededBytes });
  const advice = isContext
    ? `take at most ${largest} tokens`
    : smaller === undefined
      ? 'take a smaller model'
      : `take "${smaller}" instead`;
  return new TokenglassError(
    'model-too-large',
    `Cannot load ${model} with a context of ${context} tokens: it needs ${neededBytes} bytes, and this device gives ${availableBytes}; ${advice}`,
    {
      details: {
        model,
        neededBytes,
        availableBytes,
        largestContextTokens: largest,
        ...(smaller !== undefined && { smallerModel: smaller }),
      },
    },
  );
}

const blocksOf = (tokens: number): number => Math.ceil(tokens / KV_BLOCK);

function scratchOf(config: ModelConfig, request: MemoryRequest, context: number): number {
  const sizes = modelSizes(config);
  const perRow =
    3 * sizes.xStride + sizes.projectedStride + sizes.mixedStride + sizes.innerStride + 2 * sizes.layerStride;
  const rope = context * sizes.ropeWidth;
  const logits = request.maxSamples * sizes.logitsStride * 2;
  const sampling = request.slots * (config.vocabSize * 1.04 + context);
  const history = sizes.stateBytes > 0 ? request.slots * context : 0;
  const states = statePagesOf(config, request, blocksOf(context)) * sizes.stateBytes;
  return Math.ceil(4 * (request.maxStepTokens * perRow + rope + logits + sampling + history) + states);
}

/** @throws TokenglassError `model-too-large` where the states that sequences need are more than one binding holds */
function checkStates(config: ModelConfig, { model, slots, maxBindingBytes }: MemoryRequest): void {
  const neededBytes = (1 + 2 * slots) * modelSizes(config).largestStateBytes;
  if (neededBytes <= maxBindingBytes) return;
  throw new TokenglassError(
    'model-too-large',
    `Cannot load ${model}: the states of ${slots} sequences take ${neededBytes} bytes in a layer, and this device gives ${maxBindingBytes} to one buffer; take a smaller maxBatch`,
    { details: { model, neededBytes, availableBytes: maxBindingBytes } },
  );
}

/** As many states are kept as one context has KV blocks, where they are small. */
function statePagesOf(config: ModelConfig, { slots, maxBindingBytes }: MemoryRequest, blocks: number): number {
  const { stateBytes, largestStateBytes } = modelSizes(config);
  if (stateBytes === 0) return 0;
  const least = 1 + 2 * slots;
  const spare = Math.max(2, Math.min(blocks, Math.floor(SPARE_STATE_BYTES / stateBytes)));
  return Math.max(least, Math.min(least + spare, Math.floor(maxBindingBytes / largestStateBytes)));
}

function totalOf(config: ModelConfig, request: MemoryRequest, context: number, blocks: number): number {
  return (
    request.weightBytes + blocks * KV_BLOCK * modelSizes(config).kvBytesPerToken + scratchOf(config, request, context)
  );
}

/** Bytes in all with the largest context: what single bindings allow. */
function largestBytes(config: ModelConfig, request: MemoryRequest, largest: number): number {
  return totalOf(config, request, largest, blocksOf(largest));
}

function largestContext(config: ModelConfig, request: MemoryRequest): number {
  const { kvHalfBlockBytes, kvBytesPerToken } = modelSizes(config);
  let most = Math.min(config.contextTokens, Math.floor(request.maxBindingBytes / kvHalfBlockBytes) * KV_BLOCK);
  if (request.budgetBytes !== undefined) {
    const perToken = kvBytesPerToken + scratchOf(config, request, 1) - scratchOf(config, request, 0);
    const rest = request.budgetBytes - request.weightBytes - scratchOf(config, request, 0);
    most = Math.min(most, Math.floor(Math.max(0, rest) / perToken / KV_BLOCK) * KV_BLOCK);
  }
  return most;
}

/** Blocks for one full context, and for as many of the other sequences as spare memory allows. */
function poolBlocks(config: ModelConfig, request: MemoryRequest, context: number): number {
  const { kvBytesPerToken, kvHalfBlockBytes } = modelSizes(config);
  const one = blocksOf(context);
  let spare = Math.floor(SPARE_KV_BYTES / (kvBytesPerToken * KV_BLOCK));
  if (request.budgetBytes !== undefined) {
    const rest = request.budgetBytes - totalOf(config, request, context, one);
    spare = Math.min(spare, Math.floor(Math.max(0, rest) / (kvBytesPerToken * KV_BLOCK)));
  }
  const enough = request.kvTokens === undefined ? Infinity : Math.max(one, blocksOf(request.kvTokens));
  return Math.min(enough, one + spare, one * request.maxBatch, Math.floor(request.maxBindingBytes / kvHalfBlockBytes));
}
