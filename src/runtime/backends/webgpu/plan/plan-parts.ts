import type { ModelConfig, RopeConfig } from '../../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import type { GpuContext } from '../device.ts';
import type { DeviceMatrix } from '../kernels/formats/formats.ts';
import type { LinearSpec, LinearTile } from '../kernels/linear/linear.ts';
import type { MatmulSpec, MatmulTile } from '../kernels/matmul/matmul.ts';
import type { KernelCompiler } from '../kernels/pipeline.ts';
import type { StepLayout } from '../step-layout.ts';
import type { MatrixPlan } from '../weights/matrix-plan.ts';
import type { PlanBuffers } from './buffers.ts';
import type { ModelSizes } from './model-sizes.ts';

/** Chooses the tile of a linear kernel. */
export type TileChoice = (spec: Omit<LinearSpec, 'tile'>) => LinearTile;

/** Chooses how a matrix of a chunk is computed. */
export type MatmulChoice = (spec: Omit<MatmulSpec, 'tile'>) => MatmulTile;

/** What a block makes its own buffers of, once the weights are there. */
export interface BlockRoom {
  gpu: GpuContext;
  sizes: ModelSizes;
  contextTokens: number;
  kvBlocks: number;
  /** Pages of state that is no KV. */
  statePages: number;
  /** A vector of one or more tensors, f32, padded with zeros to `stride`. */
  vector: (label: string, stride: number, ...tensors: readonly (GgufTensorInfo | undefined)[]) => GPUBuffer;
  /** Keys and values by layer, for layers that share them. */
  kv: Map<number, { keys: GPUBuffer; values: GPUBuffer }>;
  /** Cosines and sines of every position, for layers with this rotary configuration. */
  rope: (config: RopeConfig) => GPUBuffer;
}

/** What the dispatches of a plan are made of. */
export interface PlanParts {
  gpu: GpuContext;
  compiler: KernelCompiler;
  config: ModelConfig;
  sizes: ModelSizes;
  contextTokens: number;
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>;
  buffers: PlanBuffers;
  layout: StepLayout;
  /** Contexts can be long enough for attention to be split. */
  splits: boolean;
  tile: TileChoice;
  /** Absent where chunks are computed by rows. */
  matmulTile?: MatmulChoice;
}
