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
import type { Block } from '../../block.ts';
import { branchVectors } from '../../../backends/webgpu/plan/branch-vectors.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';

/** A gated feed-forward in two dispatches: gate and up with the activation, and down. */
export class DenseOnGpu implements GpuBlock {
  readonly matrices: readonly [gateUp: MatrixPlan, down: MatrixPlan];
  readonly #block: Block<GgufTensorInfo, 'dense'>;
  readonly #label: string;

  constructor(block: Block<GgufTensorInfo, 'dense'>, label: string) {
    const { gateUp, gate, up, down } = block.weights;
    this.#block = block;
    this.#label = label;
    this.matrices = [
      stackRows(`${label} gate up`, gateUp ? [gateUp] : [gate!, up!], { gated: true }),
      stackRows(`${label} down`, [down]),
    ];
  }

  bind(room: BlockRoom): BoundBlock {
    const [gateUp, down] = this.matrices;
    const { config } = this.#block;
    const gated = config.activation === 'silu' ? 'silu' : 'gelu';
    const projection = ({ buffers, sizes }: PlanParts): Projection => ({
      y: buffers.inner,
      yStride: sizes.innerStride,
      gated,
    });
    const inner = ({ buffers, sizes }: PlanParts) => ({ buffer: buffers.inner, stride: sizes.innerStride });
    return {
      ...branchVectors(room, this.#label, this.#block.weights),
      kv: [],
      fused: async (parts, m, input, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, [gateUp], input, projection(parts)),
            fusedEnd(parts, m, down, inner(parts), end),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, [gateUp], projection(parts)),
            chunkEnd(parts, down, inner(parts), end),
          ]),
        ),
    };
  }
}
