import type { Dispatch } from '../kernels/pipeline.ts';
import type { SampleVariant } from '../kernels/sample/sample-kernels.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { BlockRoom, PlanParts } from './plan-parts.ts';
import type { BranchEnd, FusedInput } from './residual.ts';

/** What one step computes. */
export interface StepShape {
  rows: number;
  /** Rows that are the one new token of their sequence (decode); they come first. */
  singles: number;
  /** Shares of the context of those. */
  splits: number;
  /** Attention tiles of the others. */
  tiles: number;
  /** Sequences, in a model with state that is no KV. */
  runs: number;
  /** Rows of logits. */
  samples: number;
  variant: SampleVariant;
}

/** Records a dispatch, with other workgroup counts if given. */
export type Run = (dispatch: Dispatch, x?: number, y?: number, z?: number) => void;

/** Records what a block does in a step. */
export type Recorder = (run: Run, shape: StepShape) => void;

/** A block whose weights have their place; nothing is made on the device yet. */
export interface GpuBlock {
  readonly matrices: readonly MatrixPlan[];
  /** Makes what the block alone has: vectors, keys and values. */
  bind(room: BlockRoom): BoundBlock;
}

/** A buffer of pages that sequences share: KV blocks, or states. */
export interface Pages {
  buffer: GPUBuffer;
  /** Bytes of a page. */
  bytes: number;
}

export interface BoundBlock {
  /** RMSNorm gains of its branch. */
  readonly norm?: GPUBuffer;
  readonly postNorm?: GPUBuffer;
  /** `postNorm` has, after its gains, a factor of the residual. */
  readonly hasOutputScale?: boolean;
  /** Keys and values by KV block. */
  readonly kv: readonly Pages[];
  /** State that is no KV, by page. */
  readonly state?: Pages;
  /** Compiles and binds what computes up to `m` rows at a time, the norm before fused in. */
  fused(parts: PlanParts, m: number, input: FusedInput, end: BranchEnd): Promise<Recorder>;
  /** Compiles and binds what computes the many rows of a chunk, from `buffers.normed`. */
  chunk(parts: PlanParts, end: BranchEnd): Promise<Recorder>;
}
