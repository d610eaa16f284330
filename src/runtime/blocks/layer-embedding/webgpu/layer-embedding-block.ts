import { branchVectors } from '../../../backends/webgpu/plan/branch-vectors.ts';
import type { BoundBlock, GpuBlock } from '../../../backends/webgpu/plan/gpu-block.ts';
import {
  chunkEnd,
  chunkProjection,
  fusedEnd,
  fusedProjection,
  inOrder,
  type Projection,
} from '../../../backends/webgpu/plan/matrices.ts';
import type { BlockRoom, PlanParts } from '../../../backends/webgpu/plan/plan-parts.ts';
import { stackRows, type MatrixPlan } from '../../../backends/webgpu/weights/matrix-plan.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { Block } from '../../block.ts';

/** A layer's embedding in two dispatches: the gate, times the token's values of the layer; the output. */
export class LayerEmbeddingOnGpu implements GpuBlock {
  readonly matrices: readonly [gate: MatrixPlan, output: MatrixPlan];
  readonly #block: Block<GgufTensorInfo, 'layer-embedding'>;
  readonly #label: string;

  constructor(block: Block<GgufTensorInfo, 'layer-embedding'>, label: string) {
    this.#block = block;
    this.#label = label;
    this.matrices = [
      stackRows(`${label} embedding gate`, [block.weights.gate]),
      stackRows(`${label} embedding output`, [block.weights.output]),
    ];
  }

  bind(room: BlockRoom): BoundBlock {
    const [gate, output] = this.matrices;
    const { config } = this.#block;
    const projection = ({ buffers, sizes }: PlanParts): Projection => ({
      y: buffers.inner,
      yStride: sizes.innerStride,
      factor: {
        buffer: buffers.layerInputs!,
        stride: sizes.layerStride,
        from: config.from,
        activation: config.activation === 'silu' ? 'silu' : 'gelu',
      },
    });
    const inner = ({ buffers, sizes }: PlanParts) => ({ buffer: buffers.inner, stride: sizes.innerStride });
    return {
      ...branchVectors(room, `${this.#label} embedding`, this.#block.weights),
      kv: [],
      fused: async (parts, m, input, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, [gate], input, projection(parts)),
            fusedEnd(parts, m, output, inner(parts), end),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, [gate], projection(parts)),
            chunkEnd(parts, output, inner(parts), end),
          ]),
        ),
    };
  }
}
