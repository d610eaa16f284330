import { TokenglassError } from '../../../../shared/errors.ts';

/** How a kernel uses a buffer: read only, or read and written. */
export type BindingAccess = 'read' | 'write';

export interface KernelSource {
  label: string;
  code: string;
  /** Binding index to access, as declared in the shader. */
  bindings: Readonly<Record<number, BindingAccess>>;
}

/** A compiled kernel. */
export interface Kernel {
  readonly label: string;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** One dispatch with everything that does not change from step to step. */
export interface Dispatch {
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** Buffers by binding index. */
export type KernelBuffers = Readonly<Record<number, GPUBuffer>>;

const GPU_SHADER_COMPUTE = 0x4;

/**
 * Compiles kernels, each distinct one once. Compiles run in parallel and off the main thread; a failure is not kept.
 */
export class KernelCompiler {
  readonly #device: GPUDevice;
  readonly #kernels = new Map<string, Promise<Kernel>>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** @throws TokenglassError `internal` with line, column and source of a compile error */
  compile(source: KernelSource): Promise<Kernel> {
    const key = source.code;
    let kernel = this.#kernels.get(key);
    if (!kernel) {
      kernel = this.#build(source);
      this.#kernels.set(key, kernel);
      kernel.catch(() => this.#kernels.delete(key));
    }
    return kernel;
  }

  async #build({ label, code, bindings }: KernelSource): Promise<Kernel> {
    const device = this.#device;
    const module = device.createShaderModule({ label, code });
    const layout = device.createBindGroupLayout({
      label,
      entries: Object.entries(bindings).map(([binding, access]) => ({
        binding: Number(binding),
        visibility: GPU_SHADER_COMPUTE,
        buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
      })),
    });
    try {
      const pipeline = await device.createComputePipelineAsync({
        label,
        layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: 'main' },
      });
      return { label, pipeline, layout };
    } catch (cause) {
      throw await compileError(label, code, module, cause);
    }
  }
}

async function compileError(label: string, code: string, module: GPUShaderModule, cause: unknown) {
  const { messages } = await module.getCompilationInfo();
  const lines = code.split('\n');
  const errors = messages
    .filter(({ type }) => type === 'error')
    .map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}\n    ${lines[lineNum - 1] ?? ''}`);
  const what = errors.length > 0 ? errors.join('\n') : String(cause);
  return new TokenglassError('internal', `Cannot compile the kernel ${label}: ${what}`, { cause, details: { label } });
}

/** Binds buffers to a kernel. @param groups workgroups in x, y, z */
export function bindKernel(
  device: GPUDevice,
  kernel: Kernel,
  buffers: KernelBuffers,
  groups: readonly [number, number?, number?],
): Dispatch {
  const bindGroup = device.createBindGroup({
    label: kernel.label,
    layout: kernel.layout,
    entries: Object.entries(buffers).map(([binding, buffer]) => ({ binding: Number(binding), resource: { buffer } })),
  });
  return { pipeline: kernel.pipeline, bindGroup, x: groups[0], y: groups[1] ?? 1, z: groups[2] ?? 1 };
}

/** Records a dispatch, with other workgroup counts if given. */
export function record(
  pass: GPUComputePassEncoder,
  dispatch: Dispatch,
  x = dispatch.x,
  y = dispatch.y,
  z = dispatch.z,
) {
  pass.setPipeline(dispatch.pipeline);
  pass.setBindGroup(0, dispatch.bindGroup);
  pass.dispatchWorkgroups(x, y, z);
}
