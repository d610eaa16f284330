import { unsupported } from '../../../models/gguf/header-cursor.ts';
import { blockNeeds } from '../../../blocks/block-needs.ts';
import type { BlockNeeds } from '../../../blocks/block.ts';
import type { ModelConfig } from '../../../models/architectures/model-config.ts';
import { ropeKey } from '../../../blocks/attention/rope-tables.ts';
import { KV_BLOCK, queriesPerTile, splitWords } from '../../../blocks/attention/webgpu/attention.ts';

/** What a model takes of the device, from what its blocks need. Strides are f32 between two rows, multiples of 32, so that whole units of every format can be read. */
export interface ModelSizes {
  xStride: number;
  /** What first matrices give, mixers give, and lies within a feed-forward: the widest of all blocks. */
  projectedStride: number;
  mixedStride: number;
  innerStride: number;
  logitsStride: number;
  /** Values of a token for all layers, 0 where there are none. */
  layerStride: number;
  /** Bytes of the largest KV block of one layer, keys or values alone. */
  kvHalfBlockBytes: number;
  /** Bytes of KV of one token, all layers. */
  kvBytesPerToken: number;
  /** Bytes of state of a sequence that is no KV, all layers, and of the layer with the most. */
  stateBytes: number;
  largestStateBytes: number;
  /** Rows of an attention tile of a chunk. */
  tileRows: number;
  /** Numbers of one position in all rotary tables. */
  ropeWidth: number;
  /** Numbers that a row writes and reads again between the matrices of all layers. */
  activations: number;
}

export function modelSizes(config: ModelConfig): ModelSizes {
  const align = (n: number) => Math.ceil(n / 32) * 32;
  const needs = needsOf(config);
  const most = (of: (need: BlockNeeds) => number) => needs.reduce((best, need) => Math.max(best, of(need)), 0);
  const sum = (of: (need: BlockNeeds) => number) => needs.reduce((total, need) => total + of(need), 0);
  const kvRows = ({ kv }: BlockNeeds): number => (kv ? kv.heads * kv.headDim : 0);
  return {
    xStride: align(config.hiddenSize),
    projectedStride: align(most(({ projected }) => projected)),
    mixedStride: align(most(({ mixed }) => mixed)),
    innerStride: align(most(({ inner }) => inner)),
    logitsStride: align(config.vocabSize),
    layerStride: align((config.layerEmbedding?.width ?? 0) * (config.layerEmbedding?.layers ?? 0)),
    kvHalfBlockBytes: most(kvRows) * KV_BLOCK * 2,
    kvBytesPerToken: sum(kvRows) * 4,
    stateBytes: sum(({ state = 0 }) => state) * 4,
    largestStateBytes: most(({ state = 0 }) => state) * 4,
    tileRows: queriesPerTile(most(({ attends }) => attends?.headDim ?? 0)),
    ropeWidth: ropeWidth(config),
    // Written once and read once: x before and after each block, and what lies between its matrices.
    activations: 2 * sum(({ projected, mixed, inner }) => config.hiddenSize + projected + mixed + inner),
  };
}

/** Layers with the same rotary configuration share a table. */
function ropeWidth({ layers }: ModelConfig): number {
  const ropes = layers.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.kind === 'attention' && block.rope ? [block.rope] : [])),
  );
  const tables = new Map(ropes.map((rope) => [ropeKey(rope), rope.dims]));
  return [...tables.values()].reduce((sum, dims) => sum + dims, 0);
}

export function needsOf({ layers }: ModelConfig): BlockNeeds[] {
  return layers.flatMap(({ blocks }) => blocks.map(blockNeeds));
}

/** f32 words that a row's splits take, in the attention with the most. */
export function mostSplitWords(config: ModelConfig, splits: number): number {
  return needsOf(config).reduce((most, { attends }) => Math.max(most, attends ? splitWords(attends, splits) : 0), 0);
}

/** @throws TokenglassError `model-unsupported` for a shape that the kernels do not take */
export function checkModel(config: ModelConfig): void {
  if (config.layerEmbedding && config.hiddenSize % 32 !== 0)
    throw unsupported(`it is ${config.hiddenSize} wide; with embeddings by layer multiples of 32 are run`);
  for (const block of config.layers.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'delta-net' && ![16, 32, 64, 128, 256].includes(block.headDim))
      throw unsupported(`the heads of its delta net are ${block.headDim} wide; 16, 32, 64, 128 and 256 are run`);
    if (block.kind === 'mamba2' && (block.stateDim % 4 !== 0 || ![16, 32, 64, 128, 256].includes(block.headDim)))
      throw unsupported(
        `its Mamba heads are ${block.headDim} wide, with states of ${block.stateDim}; widths of 16, 32, 64, 128 and 256 are run, and multiples of 4`,
      );
    if (block.kind === 'experts' && block.size % 4 !== 0)
      throw unsupported(`its experts are ${block.size} wide; multiples of 4 are run`);
  }
  for (const { kv } of needsOf(config)) {
    if (kv && (kv.headDim % 8 !== 0 || kv.headDim > 512))
      throw unsupported(`its heads are ${kv.headDim} wide; multiples of 8 up to 512 are run`);
  }
}
