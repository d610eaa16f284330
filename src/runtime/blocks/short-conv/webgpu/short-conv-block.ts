import { bindKernel, type Dispatch } from '../../../backends/webgpu/kernels/pipeline.ts';
import stateCode from '../../../backends/webgpu/kernels/state/state.wgsl?raw';
import { composeShader } from '../../../backends/webgpu/kernels/template.ts';
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
import { stateValues } from '../../../backends/webgpu/plan/state-values.ts';
import { stackRows, type MatrixPlan } from '../../../backends/webgpu/weights/matrix-plan.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { Block } from '../../block.ts';
import { shortConvNeeds } from '../short-conv.ts';
import code from './short-conv.wgsl?raw';

/** A gated short convolution in three dispatches: B, C and X; the convolution; the output. */
export class ShortConvOnGpu implements GpuBlock {
  readonly matrices: readonly [input: MatrixPlan, output: MatrixPlan];
  readonly #block: Block<GgufTensorInfo, 'short-conv'>;
  readonly #label: string;

  constructor(block: Block<GgufTensorInfo, 'short-conv'>, label: string) {
    const { input, output } = block.weights;
    this.#block = block;
    this.#label = label;
    this.matrices = [stackRows(`${label} conv input`, [input]), stackRows(`${label} conv output`, [output])];
  }

  bind(room: BlockRoom): BoundBlock {
    const { config, weights } = this.#block;
    const { gpu, sizes, statePages, vector } = room;
    const label = this.#label;
    const [input, output] = this.matrices;
    const bytes = shortConvNeeds(config).state! * 4;
    // [pages, kernel - 1, width] f32
    const states = gpu.memory.create(`${label} conv states`, statePages * bytes);
    const kernel = vector(`${label} conv kernel`, config.width * config.kernel, weights.kernel);
    const projection = ({ buffers }: PlanParts) => ({ y: buffers.projected, yStride: sizes.projectedStride });
    const mixed = ({ buffers }: PlanParts) => ({ buffer: buffers.mixed, stride: sizes.mixedStride });
    const convolve = onceEach((parts: PlanParts) => this.#convolve(parts, { states, kernel }));
    return {
      ...branchVectors(room, `${label} conv`, weights),
      kv: [],
      state: { buffer: states, bytes },
      fused: async (parts, m, from, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, [input], from, projection(parts)),
            convolve(parts),
            fusedEnd(parts, m, output, mixed(parts), end),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, [input], projection(parts)),
            convolve(parts),
            chunkEnd(parts, output, mixed(parts), end),
          ]),
        ),
    };
  }

  async #convolve(parts: PlanParts, own: { states: GPUBuffer; kernel: GPUBuffer }): Promise<Recorder> {
    const { gpu, compiler, sizes, buffers } = parts;
    const { width, kernel: taps } = this.#block.config;
    const kernel = await compiler.compile({
      label: `short-conv ${width}`,
      code: composeShader(
        {
          ...stateValues(parts.layout),
          WIDTH: width,
          TAPS: taps,
          BEFORE: taps - 1,
          BEFORE_LAST: taps - 2,
          ONE: 1,
          STATE: (taps - 1) * width,
          IN_STRIDE: sizes.projectedStride,
          OUT_STRIDE: sizes.mixedStride,
        },
        code,
        stateCode,
      ),
      bindings: { 0: 'read', 1: 'read', 2: 'write', 3: 'read', 4: 'write' },
    });
    const bound = { 0: buffers.projected, 1: own.kernel, 2: own.states, 3: buffers.step, 4: buffers.mixed };
    const dispatch: Dispatch = bindKernel(gpu.device, kernel, bound, [Math.ceil(width / 64)]);
    return (run, { runs }) => run(dispatch, dispatch.x, runs);
  }
}
