import { bindKernel } from '../../../backends/webgpu/kernels/pipeline.ts';
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
import { mamba2Channels, mamba2Needs } from '../mamba2.ts';
import groupNormCode from './group-norm.wgsl?raw';
import code from './mamba2.wgsl?raw';

/** Most threads of a workgroup. */
const MOST_THREADS = 256;

interface Own {
  states: GPUBuffer;
  vectors: GPUBuffer;
  gain: GPUBuffer;
}

/** Mamba-2 in four dispatches: all projections; convolution, state and gate; the norm of groups; the output. */
export class Mamba2OnGpu implements GpuBlock {
  readonly matrices: readonly [input: MatrixPlan, output: MatrixPlan];
  readonly #block: Block<GgufTensorInfo, 'mamba2'>;
  readonly #label: string;

  constructor(block: Block<GgufTensorInfo, 'mamba2'>, label: string) {
    this.#block = block;
    this.#label = label;
    this.matrices = [
      stackRows(`${label} mamba input`, [block.weights.input]),
      stackRows(`${label} mamba output`, [block.weights.output]),
    ];
  }

  bind(room: BlockRoom): BoundBlock {
    const { config, weights } = this.#block;
    const { gpu, sizes, statePages, vector } = room;
    const label = this.#label;
    const [input, output] = this.matrices;
    const bytes = mamba2Needs(config).state! * 4;
    const { kernel, kernelBias, stepBias, decay, skip, groupNorm } = weights;
    const words = mamba2Channels(config) * (config.kernel + 1) + 3 * config.heads;
    const own: Own = {
      // [pages, state] f32: see mamba2.wgsl
      states: gpu.memory.create(`${label} mamba states`, statePages * bytes),
      vectors: vector(`${label} mamba vectors`, words, kernel, kernelBias, stepBias, decay, skip),
      gain: vector(`${label} mamba norm`, config.heads * config.headDim, groupNorm),
    };
    const projection = ({ buffers }: PlanParts) => ({ y: buffers.projected, yStride: sizes.projectedStride });
    const mixed = ({ buffers }: PlanParts) => ({ buffer: buffers.mixed, stride: sizes.mixedStride });
    const mix = onceEach((parts: PlanParts) => this.#mix(parts, own));
    return {
      ...branchVectors(room, `${label} mamba`, weights),
      kv: [],
      state: { buffer: own.states, bytes },
      fused: async (parts, m, from, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, [input], from, projection(parts)),
            mix(parts),
            fusedEnd(parts, m, output, mixed(parts), end),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, [input], projection(parts)),
            mix(parts),
            chunkEnd(parts, output, mixed(parts), end),
          ]),
        ),
    };
  }

  async #mix({ gpu, compiler, config, sizes, buffers, layout }: PlanParts, own: Own): Promise<Recorder> {
    const { heads, headDim, groups, stateDim, kernel: taps } = this.#block.config;
    const threadParts = Math.min(stateDim / 4, MOST_THREADS / headDim);
    const threads = headDim * threadParts;
    const [mixKernel, normKernel] = await Promise.all([
      compiler.compile({
        label: `mamba2 ${heads}x${headDim}x${stateDim}`,
        code: composeShader(
          {
            ...stateValues(layout),
            HEADS: heads,
            D: headDim,
            GROUPS: groups,
            S: stateDim,
            PARTS: threadParts,
            FOURS: stateDim / threadParts / 4,
            THREAD_CHANNELS: Math.ceil((headDim + 2 * stateDim) / threads),
            CHANNELS: mamba2Channels(this.#block.config),
            TAPS: taps,
            BEFORE: taps - 1,
            BEFORE_LAST: taps - 2,
            ONE: 1,
            STATE: mamba2Needs(this.#block.config).state!,
            IN_STRIDE: sizes.projectedStride,
            OUT_STRIDE: sizes.mixedStride,
          },
          code,
          stateCode,
        ),
        bindings: { 0: 'read', 1: 'read', 2: 'write', 3: 'read', 4: 'write' },
      }),
      compiler.compile({
        label: 'group-norm',
        code: composeShader(
          { STRIDE: sizes.mixedStride, WIDTH: (heads * headDim) / groups, EPSILON: config.normEps },
          groupNormCode,
        ),
        bindings: { 0: 'write', 1: 'read' },
      }),
    ]);
    const bound = { 0: buffers.projected, 1: own.vectors, 2: own.states, 3: buffers.step, 4: buffers.mixed };
    const mix = bindKernel(gpu.device, mixKernel, bound, [heads]);
    const norm = bindKernel(gpu.device, normKernel, { 0: buffers.mixed, 1: own.gain }, [groups]);
    return (run, { runs, rows }) => {
      run(mix, mix.x, runs);
      run(norm, norm.x, rows);
    };
  }
}
