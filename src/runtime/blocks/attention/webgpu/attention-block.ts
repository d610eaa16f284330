import { branchVectors } from '../../../backends/webgpu/plan/branch-vectors.ts';
import type { BoundBlock, GpuBlock, Recorder } from '../../../backends/webgpu/plan/gpu-block.ts';
import {
  chunkEnd,
  chunkProjection,
  fusedEnd,
  fusedProjection,
  inOrder,
  onceEach,
} from '../../../backends/webgpu/plan/matrices.ts';
import type { BlockRoom, PlanParts } from '../../../backends/webgpu/plan/plan-parts.ts';
import {
  runsOfFormat,
  stackRows,
  type MatrixPlan,
  type RowPiece,
} from '../../../backends/webgpu/weights/matrix-plan.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { Block } from '../../block.ts';
import type { AttentionConfig } from '../attention.ts';
import {
  attendManyKernel,
  attendMergeKernel,
  attendOneKernel,
  bindAttendMany,
  bindAttendMerge,
  bindAttendOne,
  bindRotate,
  KV_BLOCK,
  rotateKernel,
  type AttentionBuffers,
  type AttentionSpec,
} from './attention.ts';

/** Attention in three dispatches of a decode step: query, key and value; attention itself; the output. */
export class AttentionOnGpu implements GpuBlock {
  readonly matrices: readonly MatrixPlan[];
  readonly #block: Block<GgufTensorInfo, 'attention'>;
  readonly #layer: number;
  readonly #label: string;
  readonly #qkv: readonly MatrixPlan[];
  readonly #output: MatrixPlan;

  constructor(block: Block<GgufTensorInfo, 'attention'>, layer: number) {
    const label = `layer ${layer}`;
    const { qkv, q, k, v, output } = block.weights;
    this.#block = block;
    this.#layer = layer;
    this.#label = label;
    this.#qkv = qkv
      ? [stackRows(`${label} qkv`, [qkv])]
      : runsOfFormat(
          `${label} qkv`,
          block.config.gated ? ungated(q!, k!, v!, block.config) : [q!, k, v].filter((tensor) => tensor !== undefined),
        );
    this.#output = stackRows(`${label} attention output`, [output]);
    this.matrices = [...this.#qkv, this.#output];
  }

  bind(room: BlockRoom): BoundBlock {
    const { config, weights } = this.#block;
    const { gpu, sizes, kvBlocks, vector } = room;
    const label = this.#label;
    const halfBytes = config.kvHeads * config.headDim * KV_BLOCK * 2;
    const isShared = config.sharedLayer !== undefined;
    const make = (what: string) => gpu.memory.create(`${label} ${what}`, kvBlocks * halfBytes);
    const { keys, values } = isShared
      ? room.kv.get(config.sharedLayer!)!
      : { keys: make('keys'), values: make('values') };
    room.kv.set(this.#layer, { keys, values });
    const rope = config.rope ? room.rope(config.rope) : gpu.memory.create(`${label} no rope`, 16);
    const { qBias, kBias, vBias, qNorm, kNorm } = weights;
    const sinks = weights.sinks && vector(`${label} sinks`, config.heads, weights.sinks);
    const outputBias = weights.outputBias && vector(`${label} output bias`, sizes.xStride, weights.outputBias);
    const bias = qBias && vector(`${label} qkv bias`, sizes.projectedStride, qBias, kBias, vBias);
    const headNorm = qNorm && vector(`${label} head norms`, 2 * config.headDim, qNorm, ...(kNorm ? [kNorm] : []));
    const bound = (parts: PlanParts): AttentionBuffers => ({
      qkv: parts.buffers.projected,
      keys,
      values,
      step: parts.buffers.step,
      rope,
      out: parts.buffers.mixed,
      ...(headNorm && { headNorm }),
      ...(sinks && { sinks }),
    });
    const projection = ({ buffers }: PlanParts) => ({ y: buffers.projected, yStride: sizes.projectedStride, bias });
    const mixed = ({ buffers }: PlanParts) => ({ buffer: buffers.mixed, stride: sizes.mixedStride });
    const attend = onceEach((parts: PlanParts) => this.#attend(parts, bound(parts)));
    return {
      ...branchVectors(room, `${label} attention`, weights),
      kv: isShared ? [] : [keys, values].map((buffer) => ({ buffer, bytes: halfBytes })),
      fused: async (parts, m, input, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, this.#qkv, input, projection(parts)),
            attend(parts),
            fusedEnd(parts, m, this.#output, mixed(parts), end, outputBias),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, this.#qkv, projection(parts)),
            attend(parts),
            chunkEnd(parts, this.#output, mixed(parts), end, outputBias),
          ]),
        ),
    };
  }

  /** Attention in its two forms: of the rows that are one new token each, and of the tiles of the others. */
  async #attend(
    { gpu, compiler, config, sizes, buffers, layout, splits }: PlanParts,
    bound: AttentionBuffers,
  ): Promise<Recorder> {
    const { device } = gpu;
    const { config: own } = this.#block;
    const { rope, window } = own;
    const spec: AttentionSpec = {
      heads: own.heads,
      kvHeads: own.kvHeads,
      headDim: own.headDim,
      qkvStride: sizes.projectedStride,
      outStride: sizes.mixedStride,
      scale: own.scale,
      rope: { pairs: (rope?.dims ?? 0) / 2, interleaved: rope?.style === 'interleaved' },
      ...(own.qkNorm && { qkNorm: { epsilon: config.normEps, afterRotation: own.normAfterRotation } }),
      softcap: own.softcap,
      sinks: own.sinks,
      queryGrowth: own.queryGrowth,
      shared: own.sharedLayer !== undefined,
      ...(own.valueNorm && { valueNorm: { epsilon: config.normEps } }),
      ...(own.gated && { gateAt: (own.heads + 2 * own.kvHeads) * own.headDim }),
      ...(window !== undefined && { window }),
      queries: sizes.tileRows,
      rowsAt: layout.rowsAt,
      tilesAt: layout.tilesAt,
      tablesAt: layout.tablesAt,
      maxBlocks: layout.maxBlocks,
    };
    const [oneKernel, rotateRows, manyKernel, partsKernel, mergeKernel] = await Promise.all([
      compiler.compile(attendOneKernel(spec, false, gpu.abilities)),
      compiler.compile(rotateKernel(spec)),
      compiler.compile(attendManyKernel(spec, gpu.abilities)),
      ...(splits
        ? [compiler.compile(attendOneKernel(spec, true, gpu.abilities)), compiler.compile(attendMergeKernel(spec))]
        : []),
    ]);
    const { sinks: _sinks, ...withoutSinks } = bound;
    const one = bindAttendOne(device, oneKernel, spec, bound);
    const rotate = bindRotate(device, rotateRows, spec, bound);
    const many = bindAttendMany(device, manyKernel, spec, bound);
    const { parts: partial, mixed, step } = buffers;
    const split = partsKernel &&
      mergeKernel && {
        parts: bindAttendOne(device, partsKernel, spec, { ...withoutSinks, out: partial }),
        merge: bindAttendMerge(device, mergeKernel, spec, {
          parts: partial,
          out: mixed,
          step,
          qkv: bound.qkv,
          ...(bound.sinks && { sinks: bound.sinks }),
        }),
      };
    return (run, shape) => {
      if (shape.singles > 0) {
        if (shape.splits > 1 && split) {
          run(split.parts, shape.splits, split.parts.y, shape.singles);
          run(split.merge, split.merge.x, shape.singles);
        } else run(one, 1, one.y, shape.singles);
      }
      if (shape.rows === shape.singles) return;
      run(rotate, rotate.x, shape.rows - shape.singles);
      run(many, many.x, shape.tiles);
    };
  }
}

/** Rows of query, key, value and gate, one kind after the other; in the file each head's query rows are followed by its gate's. */
function ungated(
  q: GgufTensorInfo,
  k: GgufTensorInfo,
  v: GgufTensorInfo,
  { heads, headDim }: AttentionConfig,
): (GgufTensorInfo | RowPiece)[] {
  const ranges = (offset: number): RowPiece => ({
    tensor: q,
    ranges: Array.from({ length: heads }, (_, head) => ({ fromRow: (2 * head + offset) * headDim, rows: headDim })),
  });
  return [ranges(0), k, v, ranges(1)];
}
