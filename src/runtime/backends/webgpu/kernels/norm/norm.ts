import { bindKernel, type Dispatch, type Kernel, type KernelSource } from '../pipeline.ts';
import { composeShader } from '../template.ts';
import code from './norm.wgsl?raw';

export interface NormSpec {
  width: number;
  epsilon: number;
  /** f32 between two rows, a multiple of 4. */
  stride: number;
  /** False: x goes on as it is. @default true */
  norm?: boolean;
  /** Add RMSNorm(t) * gain to x first. */
  postNorm: boolean;
  /** The sum is multiplied with what comes after the gains of that norm. */
  postScaled?: boolean;
}

export interface NormBuffers {
  x: GPUBuffer;
  gain?: GPUBuffer;
  out: GPUBuffer;
  t?: GPUBuffer;
  postGain?: GPUBuffer;
}

/** RMSNorm of many rows. */
export function normKernel({
  width,
  epsilon,
  stride,
  norm = true,
  postNorm,
  postScaled = false,
}: NormSpec): KernelSource {
  return {
    label: `norm ${width}`,
    code: composeShader(
      {
        NORM: norm,
        POST_NORM: postNorm,
        POST_SCALED: postScaled,
        WIDTH: width,
        VECTORS: Math.ceil(width / 4),
        STRIDE: stride,
        EPSILON: epsilon,
      },
      code,
    ),
    bindings: {
      0: 'write',
      ...(norm && { 1: 'read' as const }),
      2: 'write',
      ...(postNorm && { 3: 'read' as const, 4: 'read' as const }),
    },
  };
}

export function bindNorm(device: GPUDevice, kernel: Kernel, buffers: NormBuffers, tokenRows: number): Dispatch {
  return bindKernel(
    device,
    kernel,
    {
      0: buffers.x,
      ...(buffers.gain && { 1: buffers.gain }),
      2: buffers.out,
      ...(buffers.t && { 3: buffers.t }),
      ...(buffers.postGain && { 4: buffers.postGain }),
    },
    [tokenRows],
  );
}
