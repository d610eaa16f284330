import { bindMatmul, matmulKernel, type MatmulSpec } from '../kernels/matmul/matmul.ts';
import { bindNorm, normKernel } from '../kernels/norm/norm.ts';
import type { Dispatch } from '../kernels/pipeline.ts';
import type { MatrixPlan } from '../weights/weight-plan.ts';
import type { MatmulChoice, PlanParts } from './fused-steps.ts';
import { modelSizes } from './model-sizes.ts';

/** A matrix of a chunk. */
export interface MatmulDispatch extends Dispatch {
  /** Rows that a workgroup takes. */
  tileRows: number;
}

/** Dispatches of a prefill chunk; their y (norms: x) is set by the number of rows when recorded. */
export interface ChunkLayer {
  attnNorm: Dispatch;
  qkv: readonly MatmulDispatch[];
  attnOutput: MatmulDispatch;
  ffnNorm: Dispatch;
  gateUp: MatmulDispatch;
  down: MatmulDispatch;
}

/** Compiles and binds norms and tiled matrices for chunks. */
export async function createChunkSteps(parts: PlanParts, matmulTile: MatmulChoice): Promise<ChunkLayer[]> {
  const { gpu, compiler, config, weights, buffers } = parts;
  const sizes = modelSizes(config);
  const post = config.postNorms;
  const activation = config.activation === 'silu' ? 'silu' : 'gelu';
  const matmul = async (
    plan: MatrixPlan,
    options: Omit<MatmulSpec, 'format' | 'rows' | 'cols' | 'tile'>,
    x: GPUBuffer,
    y: GPUBuffer,
    bias?: GPUBuffer,
  ): Promise<MatmulDispatch> => {
    const matrix = parts.matrices.get(plan)!;
    const { format, rows, cols } = matrix;
    const shape = { format, rows, cols, ...options };
    const spec: MatmulSpec = { ...shape, tile: matmulTile(shape) };
    const kernel = await compiler.compile(matmulKernel(spec, gpu.abilities));
    const bound = { x, y, step: buffers.step, ...(bias && { bias }) };
    return { ...bindMatmul(gpu.device, kernel, spec, matrix, bound, 1), tileRows: spec.tile.tileRows };
  };
  const norm = async (gain: GPUBuffer, postGain: GPUBuffer | undefined): Promise<Dispatch> => {
    const spec = {
      width: config.hiddenSize,
      epsilon: config.normEps,
      stride: sizes.xStride,
      postNorm: postGain !== undefined,
    };
    const kernel = await compiler.compile(normKernel(spec));
    return bindNorm(
      gpu.device,
      kernel,
      { x: buffers.x[0], gain, out: buffers.normed, ...(postGain && { t: buffers.t, postGain }) },
      1,
    );
  };
  const branchOut = post ? buffers.t : buffers.x[0];
  return Promise.all(
    weights.layers.map(async (layer, index): Promise<ChunkLayer> => {
      const vectors = buffers.layers[index]!;
      const [attnNorm, attnOutput, ffnNorm, gateUp, down, ...qkv] = await Promise.all([
        norm(vectors.attnNorm, buffers.layers[index - 1]?.postFfnNorm),
        matmul(
          layer.attnOutput,
          { xStride: sizes.attnStride, yStride: sizes.xStride, residual: !post },
          buffers.attention,
          branchOut,
        ),
        norm(vectors.ffnNorm, vectors.postAttnNorm),
        matmul(
          layer.gateUp,
          { xStride: sizes.xStride, yStride: sizes.ffnStride, gated: activation },
          buffers.normed,
          buffers.ffn,
        ),
        matmul(
          layer.down,
          { xStride: sizes.ffnStride, yStride: sizes.xStride, residual: !post },
          buffers.ffn,
          branchOut,
        ),
        ...layer.qkv.map((matrix) =>
          matmul(
            matrix,
            {
              xStride: sizes.xStride,
              yStride: sizes.qkvStride,
              yOffset: matrix.offset,
              bias: vectors.qkvBias !== undefined,
            },
            buffers.normed,
            buffers.qkv,
            vectors.qkvBias,
          ),
        ),
      ]);
      return { attnNorm, qkv, attnOutput, ffnNorm, gateUp, down };
    }),
  );
}
