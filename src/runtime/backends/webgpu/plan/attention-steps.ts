import {
  attendManyKernel,
  attendMergeKernel,
  attendOneKernel,
  bindAttendMany,
  bindAttendMerge,
  bindAttendOne,
  bindRotate,
  rotateKernel,
  type AttentionSpec,
} from '../kernels/attention/attention.ts';
import type { Dispatch } from '../kernels/pipeline.ts';
import type { PlanParts } from './fused-steps.ts';
import { modelSizes } from './model-sizes.ts';

/** Attention of one layer, in its two forms: one new token a row, or a chunk. Counts are set when recorded. */
export interface AttentionLayer {
  one: Dispatch;
  /** Absent where no context is long enough. */
  split?: { parts: Dispatch; merge: Dispatch };
  rotate: Dispatch;
  many: Dispatch;
}

/** @param splits contexts are long enough to be split */
export async function createAttentionSteps(parts: PlanParts, splits: boolean): Promise<AttentionLayer[]> {
  const { gpu, compiler, config, buffers, layout } = parts;
  const { device } = gpu;
  const sizes = modelSizes(config);
  return Promise.all(
    config.layers.map(async ({ rope, window }, index): Promise<AttentionLayer> => {
      const spec: AttentionSpec = {
        heads: config.heads,
        kvHeads: config.kvHeads,
        headDim: config.headDim,
        qkvStride: sizes.qkvStride,
        outStride: sizes.attnStride,
        scale: config.attentionScale,
        rope: { pairs: rope.dims / 2, interleaved: rope.style === 'interleaved' },
        ...(config.qkNorm && { qkNorm: { epsilon: config.normEps } }),
        ...(window !== undefined && { window }),
        rowsAt: layout.rowsAt,
        tilesAt: layout.tilesAt,
        tablesAt: layout.tablesAt,
        maxBlocks: layout.maxBlocks,
      };
      const { headNorm } = buffers.layers[index]!;
      const bound = {
        qkv: buffers.qkv,
        keys: buffers.keys[index]!,
        values: buffers.values[index]!,
        step: buffers.step,
        rope: buffers.ropes[index]!,
        out: buffers.attention,
        ...(headNorm && { headNorm }),
      };
      const [one, rotate, many, oneSplit, merge] = await Promise.all([
        compiler.compile(attendOneKernel(spec, false, gpu.abilities)),
        compiler.compile(rotateKernel(spec)),
        compiler.compile(attendManyKernel(spec, gpu.abilities)),
        ...(splits
          ? [compiler.compile(attendOneKernel(spec, true, gpu.abilities)), compiler.compile(attendMergeKernel(spec))]
          : []),
      ]);
      return {
        one: bindAttendOne(device, one, spec, bound),
        ...(oneSplit &&
          merge && {
            split: {
              parts: bindAttendOne(device, oneSplit, spec, { ...bound, out: buffers.parts }),
              merge: bindAttendMerge(device, merge, spec, {
                parts: buffers.parts,
                out: buffers.attention,
                step: buffers.step,
              }),
            },
          }),
        rotate: bindRotate(device, rotate, spec, bound),
        many: bindAttendMany(device, many, spec, bound),
      };
    }),
  );
}
