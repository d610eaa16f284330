import { branchVectors } from '../../../backends/webgpu/plan/branch-vectors.ts';
import type { BoundBlock, GpuBlock, Recorder } from '../../../backends/webgpu/plan/gpu-block.ts';
import {
  chunkEnd,
  chunkProjection,
  fusedEnd,
  fusedProjection,
  inOrder,
} from '../../../backends/webgpu/plan/matrices.ts';
import type { BlockRoom, PlanParts } from '../../../backends/webgpu/plan/plan-parts.ts';
import { afterRead, type BranchEnd, type FusedInput } from '../../../backends/webgpu/plan/residual.ts';
import { stackRows, type MatrixPlan } from '../../../backends/webgpu/weights/matrix-plan.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { Block } from '../../block.ts';
import { bindDown, bindGateUp, type ExpertsSpec } from './experts-kernels.ts';

/** A mixture of experts in three dispatches: the router; gate and up of the chosen; their weighted sum. A shared expert takes two more. */
export class ExpertsOnGpu implements GpuBlock {
  readonly matrices: readonly MatrixPlan[];
  readonly #block: Block<GgufTensorInfo, 'experts'>;
  readonly #label: string;
  readonly #router: MatrixPlan;
  readonly #gateUp: MatrixPlan;
  readonly #down: MatrixPlan;
  readonly #shared: { gateUp: MatrixPlan; down: MatrixPlan } | undefined;

  constructor(block: Block<GgufTensorInfo, 'experts'>, label: string) {
    const { router, gate, up, down, sharedGate, sharedUp, sharedDown } = block.weights;
    const { used, count } = block.config;
    const picked = { used, count };
    this.#block = block;
    this.#label = label;
    this.#router = stackRows(`${label} router`, [router]);
    this.#gateUp = { ...stackRows(`${label} experts gate up`, [gate, up]), picked };
    this.#down = { ...stackRows(`${label} experts down`, [down]), picked };
    this.#shared = sharedGate && {
      gateUp: stackRows(`${label} shared gate up`, [sharedGate, sharedUp!], { gated: true }),
      down: stackRows(`${label} shared down`, [sharedDown!]),
    };
    this.matrices = [this.#router, this.#gateUp, this.#down, ...Object.values(this.#shared ?? {})];
  }

  bind(room: BlockRoom): BoundBlock {
    const { weights } = this.#block;
    const { sizes } = room;
    const label = `${this.#label} experts`;
    const { selectionBias, routerBias, gateBias, upBias, downBias } = weights;
    const biases = [selectionBias, routerBias, gateBias, upBias, downBias].filter((tensor) => tensor !== undefined);
    const words = biases.reduce((sum, { elements }) => sum + elements, 0);
    const extra = words > 0 ? room.vector(`${label} biases`, words, ...biases) : undefined;
    const vectors = branchVectors(room, label, weights);
    const router = ({ buffers }: PlanParts) => ({ y: buffers.projected, yStride: sizes.projectedStride });
    const shared = ({ buffers }: PlanParts) => ({
      y: buffers.mixed,
      yStride: sizes.mixedStride,
      gated: 'silu' as const,
    });
    const sharedInner = ({ buffers }: PlanParts) => ({ buffer: buffers.mixed, stride: sizes.mixedStride });
    // The shared expert adds to what the others gave.
    const onto = (end: BranchEnd): BranchEnd => ({ ...end, residual: true });
    return {
      ...vectors,
      kv: [],
      fused: async (parts, m, input, end) => {
        const after = afterRead(input);
        const [routed, experts, sharedGateUp, sharedDown] = await Promise.all([
          fusedProjection(parts, m, [this.#router], input, router(parts)),
          this.#experts(parts, after, end, extra),
          this.#shared && fusedProjection(parts, m, [this.#shared.gateUp], after, shared(parts)),
          this.#shared && fusedEnd(parts, m, this.#shared.down, sharedInner(parts), onto(end)),
        ]);
        return ordered(routed, experts, sharedGateUp, sharedDown);
      },
      chunk: async (parts, end) => {
        const [routed, experts, sharedGateUp, sharedDown] = await Promise.all([
          chunkProjection(parts, [this.#router], router(parts)),
          this.#experts(parts, { x: parts.buffers.normed }, end, extra),
          this.#shared && chunkProjection(parts, [this.#shared.gateUp], shared(parts)),
          this.#shared && chunkEnd(parts, this.#shared.down, sharedInner(parts), onto(end)),
        ]);
        return ordered(routed, experts, sharedGateUp, sharedDown);
      },
    };
  }

  /** The chosen experts of each row. */
  async #experts(
    { gpu, compiler, config, sizes, matrices, buffers }: PlanParts,
    { x, gain }: FusedInput,
    end: BranchEnd,
    extra: GPUBuffer | undefined,
  ): Promise<Experts> {
    const spec: ExpertsSpec = {
      config: this.#block.config,
      hidden: config.hiddenSize,
      xStride: sizes.xStride,
      innerStride: sizes.innerStride,
      logitsStride: sizes.projectedStride,
      abilities: gpu.abilities,
    };
    const bound = { logits: buffers.projected, extra, inner: buffers.inner };
    const norm = { width: config.hiddenSize, epsilon: config.normEps };
    const [gateUp, down] = await Promise.all([
      bindGateUp(gpu.device, compiler, spec, matrices.get(this.#gateUp)!, { ...bound, x, gain }, norm),
      bindDown(gpu.device, compiler, spec, matrices.get(this.#down)!, { ...bound, y: end.y }, end),
    ]);
    return {
      gateUp: (run, { rows }) => run(gateUp, gateUp.x, gateUp.y, rows),
      down: (run, { rows }) => run(down, down.x, rows),
    };
  }
}

interface Experts {
  gateUp: Recorder;
  down: Recorder;
}

/** All that reads the residual comes before what adds to it. */
function ordered(
  routed: Recorder,
  { gateUp, down }: Experts,
  sharedGateUp: Recorder | undefined,
  sharedDown: Recorder | undefined,
): Recorder {
  return inOrder([routed, gateUp, ...(sharedGateUp ? [sharedGateUp] : []), down, ...(sharedDown ? [sharedDown] : [])]);
}
