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
import { runsOfFormat, stackRows, type MatrixPlan } from '../../../backends/webgpu/weights/matrix-plan.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { Block } from '../../block.ts';
import { deltaNetChannels, deltaNetNeeds } from '../delta-net.ts';
import code from './delta-net.wgsl?raw';

/** Most threads of a workgroup. */
const MOST_THREADS = 256;

/** A gated delta net in three dispatches: all projections; convolution, delta rule, norm and gate; the output. */
export class DeltaNetOnGpu implements GpuBlock {
  readonly matrices: readonly MatrixPlan[];
  readonly #block: Block<GgufTensorInfo, 'delta-net'>;
  readonly #label: string;
  readonly #inputs: readonly MatrixPlan[];
  readonly #output: MatrixPlan;

  constructor(block: Block<GgufTensorInfo, 'delta-net'>, label: string) {
    const { qkv, gate, beta, alpha, output } = block.weights;
    this.#block = block;
    this.#label = label;
    this.#inputs = runsOfFormat(`${label} delta input`, [qkv, gate, beta, alpha]);
    this.#output = stackRows(`${label} delta output`, [output]);
    this.matrices = [...this.#inputs, this.#output];
  }

  bind(room: BlockRoom): BoundBlock {
    const { config, weights } = this.#block;
    const { gpu, sizes, statePages, vector } = room;
    const label = this.#label;
    const bytes = deltaNetNeeds(config).state! * 4;
    // [pages, state] f32: see delta-net.wgsl
    const states = gpu.memory.create(`${label} delta states`, statePages * bytes);
    const { kernel, alphaBias, decay, headNorm } = weights;
    const vectors = vector(
      `${label} delta vectors`,
      deltaNetChannels(config) * config.kernel + 2 * config.valueHeads + config.headDim,
      kernel,
      alphaBias,
      decay,
      headNorm,
    );
    const projection = ({ buffers }: PlanParts) => ({ y: buffers.projected, yStride: sizes.projectedStride });
    const mixed = ({ buffers }: PlanParts) => ({ buffer: buffers.mixed, stride: sizes.mixedStride });
    const mix = onceEach((parts: PlanParts) => this.#mix(parts, { states, vectors }));
    return {
      ...branchVectors(room, `${label} delta`, weights),
      kv: [],
      state: { buffer: states, bytes },
      fused: async (parts, m, from, end) =>
        inOrder(
          await Promise.all([
            fusedProjection(parts, m, this.#inputs, from, projection(parts)),
            mix(parts),
            fusedEnd(parts, m, this.#output, mixed(parts), end),
          ]),
        ),
      chunk: async (parts, end) =>
        inOrder(
          await Promise.all([
            chunkProjection(parts, this.#inputs, projection(parts)),
            mix(parts),
            chunkEnd(parts, this.#output, mixed(parts), end),
          ]),
        ),
    };
  }

  async #mix(parts: PlanParts, own: { states: GPUBuffer; vectors: GPUBuffer }): Promise<Recorder> {
    const { gpu, compiler, config, sizes, buffers, layout } = parts;
    const { keyHeads, valueHeads, headDim, kernel: taps } = this.#block.config;
    const threadParts = Math.min(headDim / 4, MOST_THREADS / headDim);
    const kernel = await compiler.compile({
      label: `delta-net ${valueHeads}x${headDim}`,
      code: composeShader(
        {
          ...stateValues(layout),
          S: headDim,
          PARTS: threadParts,
          FOURS: headDim / threadParts / 4,
          THREAD_CHANNELS: Math.ceil((3 * headDim) / (headDim * threadParts)),
          KEY_HEADS: keyHeads,
          VALUE_HEADS: valueHeads,
          CHANNELS: deltaNetChannels(this.#block.config),
          TAPS: taps,
          BEFORE: taps - 1,
          BEFORE_LAST: taps - 2,
          ONE: 1,
          STATE: deltaNetNeeds(this.#block.config).state!,
          EPSILON: config.normEps,
          SCALE: 1 / Math.sqrt(headDim),
          IN_STRIDE: sizes.projectedStride,
          OUT_STRIDE: sizes.mixedStride,
        },
        code,
        stateCode,
      ),
      bindings: { 0: 'read', 1: 'read', 2: 'write', 3: 'read', 4: 'write' },
    });
    const bound = { 0: buffers.projected, 1: own.vectors, 2: own.states, 3: buffers.step, 4: buffers.mixed };
    const dispatch = bindKernel(gpu.device, kernel, bound, [valueHeads]);
    return (run, { runs }) => run(dispatch, dispatch.x, runs);
  }
}
