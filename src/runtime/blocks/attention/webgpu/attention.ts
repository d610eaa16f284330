import type { GpuAbilities } from '../../../backends/webgpu/device.ts';
import {
  bindKernel,
  type Dispatch,
  type Kernel,
  type KernelSource,
} from '../../../backends/webgpu/kernels/pipeline.ts';
import { composeShader, type TemplateValues } from '../../../backends/webgpu/kernels/template.ts';
import manyCode from './attend-many.wgsl?raw';
import mergeCode from './attend-merge.wgsl?raw';
import oneCode from './attend-one.wgsl?raw';
import gateCode from './gate.wgsl?raw';
import headCode from './head.wgsl?raw';
import rotateCode from './rotate.wgsl?raw';

/** Tokens of a KV block. */
export const KV_BLOCK = 32;

export interface AttentionSpec {
  heads: number;
  kvHeads: number;
  /** A multiple of 8, at most 512. */
  headDim: number;
  /** f32 between two rows of qkv, and of the output; multiples of 4. */
  qkvStride: number;
  outStride: number;
  /** What query-key products are multiplied with. */
  scale: number;
  /** No pairs: nothing is rotated. */
  rope: { pairs: number; interleaved: boolean };
  /** RMSNorm of query and key heads with this epsilon. */
  qkNorm?: { epsilon: number; afterRotation?: boolean };
  /** Scores are capped softly. */
  softcap?: number | undefined;
  /** Each head has one more score, of nothing. */
  sinks?: boolean;
  /** Queries grow: see AttentionConfig. */
  queryGrowth?: { growth: number; every: number } | undefined;
  /** Keys and values are another layer's, and there already. */
  shared?: boolean;
  /** RMSNorm of value heads with this epsilon. */
  valueNorm?: { epsilon: number };
  /** Word of a row of qkv where the gates of its heads begin: results are multiplied with their sigmoid. */
  gateAt?: number;
  /** A token attends to itself and the `window - 1` before. */
  window?: number;
  /** Rows of a tile of a chunk. @default what suits the width of a head */
  queries?: number;
  /** Words of the step buffer where rows, tiles and block tables begin; blocks of a table. */
  rowsAt: number;
  tilesAt: number;
  tablesAt: number;
  maxBlocks: number;
}

export interface AttentionBuffers {
  qkv: GPUBuffer;
  keys: GPUBuffer;
  values: GPUBuffer;
  step: GPUBuffer;
  rope: GPUBuffer;
  out: GPUBuffer;
  headNorm?: GPUBuffer;
  /** [heads] f32 */
  sinks?: GPUBuffer;
}

function specValues(spec: AttentionSpec): TemplateValues {
  return {
    HEADS: spec.heads,
    KV_HEADS: spec.kvHeads,
    D: spec.headDim,
    QKV_STRIDE: spec.qkvStride,
    OUT_STRIDE: spec.outStride,
    SCALE: spec.scale,
    PAIRS: spec.rope.pairs,
    INTERLEAVED: spec.rope.interleaved,
    QK_NORM: spec.qkNorm !== undefined,
    NORM_FIRST: spec.qkNorm !== undefined && spec.qkNorm.afterRotation !== true,
    NORM_LAST: spec.qkNorm?.afterRotation === true,
    EPSILON: spec.qkNorm?.epsilon ?? 0,
    SOFTCAP: spec.softcap ?? 0,
    GROWTH: spec.queryGrowth?.growth ?? 0,
    // A fraction, so that it is written as a float.
    GROWTH_EVERY: (spec.queryGrowth?.every ?? 1) + 1e-7,
    SHARED: spec.shared === true,
    VALUE_NORM: spec.valueNorm !== undefined,
    VALUE_EPSILON: spec.valueNorm?.epsilon ?? 0,
    SINKS: spec.sinks === true,
    WINDOW: spec.window ?? 0,
    GATED: spec.gateAt !== undefined,
    GATE_AT: spec.gateAt ?? 0,
    ROWS_AT: spec.rowsAt,
    TILES_AT: spec.tilesAt,
    TABLES_AT: spec.tablesAt,
    MAX_BLOCKS: spec.maxBlocks,
  };
}

/**
 * Threads of a workgroup of `attend-one`: many on hardware, where one workgroup does a short context alone; few where every thread and
 * barrier costs (software adapters).
 */
export function attendOneThreads(headDim: number, abilities: Pick<GpuAbilities, 'unroll'>): number {
  if (abilities.unroll) return 256;
  return headDim <= 128 ? 32 : headDim / 4;
}

/** Most threads there can be, which workgroup memory is planned for. */
const ONE_THREADS = 256;

/** Query heads that a workgroup of `attend-one` takes: as many of those that share a key head as 16 KiB of workgroup memory allow. */
export function headsPerGroup({
  heads,
  kvHeads,
  headDim,
}: Pick<AttentionSpec, 'heads' | 'kvHeads' | 'headDim'>): number {
  const shared = heads / kvHeads;
  let group = 1;
  for (let n = 1; n <= Math.min(8, shared); n++) {
    const bytes = 4 * (n * headDim + scratchWords(n, headDim, ONE_THREADS));
    if (shared % n === 0 && bytes <= 14_000) group = n;
  }
  return group;
}

function scratchWords(group: number, headDim: number, threads: number): number {
  return Math.max((group + 1) * headDim, group * threads, 4 * threads);
}

/** Attention of one token a row, new key and value included. @param split results are parts of a longer context */
export function attendOneKernel(spec: AttentionSpec, split: boolean, abilities: GpuAbilities): KernelSource {
  const threads = attendOneThreads(spec.headDim, abilities);
  const group = headsPerGroup(spec);
  return {
    label: `attend-one${split ? ' split' : ''}`,
    code: composeShader(
      {
        ...specValues(spec),
        GROUP: group,
        WG: threads,
        SCRATCH: scratchWords(group, spec.headDim, threads),
        SPLIT: split,
      },
      headCode,
      gateCode,
      oneCode,
    ),
    bindings: {
      0: 'read',
      1: 'write',
      2: 'write',
      3: 'read',
      4: 'read',
      5: 'write',
      ...(spec.qkNorm && { 6: 'read' as const }),
      ...(spec.sinks && !split && { 7: 'read' as const }),
    },
  };
}

/** x: splits, y: groups of heads, z: rows; x and z are set when recorded. */
export function bindAttendOne(
  device: GPUDevice,
  kernel: Kernel,
  spec: AttentionSpec,
  { sinks, ...buffers }: AttentionBuffers,
): Dispatch {
  const bound = { ...attentionBindings(buffers), ...(sinks && { 7: sinks }) };
  return bindKernel(device, kernel, bound, [1, spec.heads / headsPerGroup(spec), 1]);
}

/** Puts the splits together. */
export function attendMergeKernel(spec: AttentionSpec): KernelSource {
  return {
    label: 'attend-merge',
    code: composeShader(
      {
        HEADS: spec.heads,
        D: spec.headDim,
        OUT_STRIDE: spec.outStride,
        QKV_STRIDE: spec.qkvStride,
        GATED: spec.gateAt !== undefined,
        GATE_AT: spec.gateAt ?? 0,
        SINKS: spec.sinks === true,
        WG: Math.max(64, spec.headDim / 4),
      },
      gateCode,
      mergeCode,
    ),
    bindings: {
      0: 'read',
      1: 'write',
      2: 'read',
      ...(spec.gateAt !== undefined && { 3: 'read' as const }),
      ...(spec.sinks && { 7: 'read' as const }),
    },
  };
}

export function bindAttendMerge(
  device: GPUDevice,
  kernel: Kernel,
  spec: AttentionSpec,
  buffers: { parts: GPUBuffer; out: GPUBuffer; step: GPUBuffer; qkv: GPUBuffer; sinks?: GPUBuffer },
): Dispatch {
  const { parts, out, step, qkv, sinks } = buffers;
  const bound = {
    0: parts,
    1: out,
    2: step,
    ...(spec.gateAt !== undefined && { 3: qkv }),
    ...(sinks && { 7: sinks }),
  };
  return bindKernel(device, kernel, bound, [spec.heads, 1]);
}

/** f32 words that a row's splits take. */
export function splitWords({ heads, headDim }: Pick<AttentionSpec, 'heads' | 'headDim'>, splits: number): number {
  return heads * splits * (headDim + 4);
}

/** Rotated queries go to the output's place, keys and values to the cache: what `attend-many` starts from. */
export function rotateKernel(spec: AttentionSpec): KernelSource {
  return {
    label: 'rotate',
    code: composeShader(specValues(spec), headCode, rotateCode),
    bindings: {
      0: 'read',
      1: 'write',
      2: 'write',
      3: 'read',
      4: 'read',
      5: 'write',
      ...(spec.qkNorm && { 6: 'read' as const }),
    },
  };
}

/** y: rows, set when recorded. */
export function bindRotate(
  device: GPUDevice,
  kernel: Kernel,
  spec: AttentionSpec,
  { sinks: _sinks, ...buffers }: AttentionBuffers,
): Dispatch {
  const items = (spec.heads * spec.headDim) / 2 + (spec.kvHeads * spec.headDim) / 8;
  return bindKernel(device, kernel, attentionBindings(buffers), [Math.ceil(items / 64), 1]);
}

/** Rows of a tile of `attend-many`. */
export function queriesPerTile(headDim: number): number {
  return headDim <= 128 ? 16 : headDim <= 256 ? 8 : 4;
}

/** Causal attention of a prefill chunk. */
export function attendManyKernel(spec: AttentionSpec, abilities: Pick<GpuAbilities, 'unroll'>): KernelSource {
  const queries = spec.queries ?? queriesPerTile(spec.headDim);
  const threads = abilities.unroll ? 128 : attendOneThreads(spec.headDim, abilities);
  const rowLanes = Math.min(queries, Math.floor(threads / (spec.headDim / 4)));
  // `turn` of head.wgsl names the rotary table, which is not bound here.
  const code = composeShader(
    {
      ...specValues(spec),
      QUERIES: queries,
      WG: threads,
      SCORE_ROWS: queries / (threads / 32),
      ROW_LANES: rowLanes,
      VALUE_ROWS: Math.ceil(queries / rowLanes),
    },
    '@group(0) @binding(4) var<storage, read> rope: array<vec2<f32>>;',
    headCode,
    gateCode,
    manyCode,
  );
  return {
    label: 'attend-many',
    code,
    bindings: {
      ...(spec.gateAt !== undefined && { 0: 'read' as const }),
      1: 'read',
      2: 'read',
      3: 'read',
      5: 'write',
      ...(spec.sinks && { 7: 'read' as const }),
    },
  };
}

/** y: tiles, set when recorded. */
export function bindAttendMany(
  device: GPUDevice,
  kernel: Kernel,
  spec: AttentionSpec,
  { sinks, ...buffers }: AttentionBuffers,
): Dispatch {
  const { 0: qkv, 4: _rope, 6: _norm, ...bindings } = attentionBindings(buffers);
  return bindKernel(
    device,
    kernel,
    { ...bindings, ...(spec.gateAt !== undefined && { 0: qkv! }), ...(sinks && { 7: sinks }) },
    [spec.heads, 1],
  );
}

function attentionBindings(buffers: AttentionBuffers): Record<number, GPUBuffer> {
  return {
    0: buffers.qkv,
    1: buffers.keys,
    2: buffers.values,
    3: buffers.step,
    4: buffers.rope,
    5: buffers.out,
    ...(buffers.headNorm && { 6: buffers.headNorm }),
  };
}
