import chainCode from '../metrics/probe/chain.wgsl?raw';
import readCode from '../metrics/probe/stream-read.wgsl?raw';

/** What every step is made to do in addition. */
export interface Starving {
  /** Keeps the thread busy before the step's commands are submitted, ms. */
  hostMs: number;
  /** Lets the step's result wait that much longer, ms. */
  waitMs: number;
  /** Dispatches that do next to nothing, in the step's own pass: each waits for the one before and changes pipeline and bind group. */
  dispatches: number;
  /** Reads a buffer of other data so many times, in the step's own pass. */
  reads: number;
}

export const NOT_STARVED: Starving = { hostMs: 0, waitMs: 0, dispatches: 0, reads: 0 };

/** A workgroup of `stream-read` reads so much in a round. */
const GROUP_BYTES = 256 * 64 * 16;
const STORAGE = 0x80;
const UNIFORM = 0x40;
const COPY_DST = 0x8;
const MAP_READ = 0x1;

interface Extras {
  record: (pass: GPUComputePassEncoder, starving: Starving) => void;
}

/**
 * A `GPU` whose devices do more than they are asked for, to see whether the diagnosis names what was added. Only the passes that are labelled `step`
 * are touched; what is computed stays the same.
 */
export class StarvedGpu {
  /** Hand this to the engine (`gpu`), in the thread that runs it. */
  readonly gpu: GPU;
  starving: Starving = NOT_STARVED;
  /** Bytes of the buffer that is read. */
  readonly readBytes: number;
  /** Time that `hostMs` and `waitMs` really took since it was set to 0, ms: timers are not exact. */
  addedMs = 0;

  constructor(gpu: GPU, readBytes: number) {
    this.readBytes = Math.ceil(readBytes / GROUP_BYTES) * GROUP_BYTES;
    const requestAdapter = async (options?: GPURequestAdapterOptions): Promise<GPUAdapter | null> => {
      const adapter = await gpu.requestAdapter(options);
      if (adapter) this.#changeAdapter(adapter);
      return adapter;
    };
    this.gpu = new Proxy(gpu, {
      get: (target, name): unknown => {
        if (name === 'requestAdapter') return requestAdapter;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  }

  #changeAdapter(adapter: GPUAdapter): void {
    const requestDevice = adapter.requestDevice.bind(adapter);
    adapter.requestDevice = async (descriptor) => {
      const device = await requestDevice(descriptor);
      this.#changeDevice(device);
      return device;
    };
  }

  #changeDevice(device: GPUDevice): void {
    const extras = createExtras(device, this.readBytes);
    const createCommandEncoder = device.createCommandEncoder.bind(device);
    const stepCommands = new WeakSet<GPUCommandBuffer>();
    device.createCommandEncoder = (descriptor) => {
      const encoder = createCommandEncoder(descriptor);
      if (descriptor?.label !== 'step') return encoder;
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (of) => {
        const pass = begin(of);
        extras.record(pass, this.starving);
        return pass;
      };
      const finish = encoder.finish.bind(encoder);
      encoder.finish = (of) => {
        const commands = finish(of);
        stepCommands.add(commands);
        return commands;
      };
      return encoder;
    };
    const submit = device.queue.submit.bind(device.queue);
    device.queue.submit = (commands) => {
      const all = [...commands];
      if (all.some((one) => stepCommands.has(one))) this.#delayHost();
      submit(all);
    };
    this.#delayReadback(device);
  }

  #delayHost(): void {
    const fromMs = performance.now();
    while (performance.now() - fromMs < this.starving.hostMs);
    if (this.starving.hostMs > 0) this.addedMs += performance.now() - fromMs;
  }

  #delayReadback(device: GPUDevice): void {
    const createBuffer = device.createBuffer.bind(device);
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      if ((descriptor.usage & MAP_READ) === 0) return buffer;
      const map = buffer.mapAsync.bind(buffer);
      buffer.mapAsync = async (mode, offset, size): Promise<undefined> => {
        await map(mode, offset, size);
        const { waitMs } = this.starving;
        if (waitMs === 0) return;
        const fromMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        this.addedMs += performance.now() - fromMs;
      };
      return buffer;
    };
  }
}

/** The kernels of the probe, whose cost it has measured, in a pass of somebody else's. */
function createExtras(device: GPUDevice, readBytes: number): Extras {
  const kernel = (code: string, buffers: readonly GPUBuffer[]) => {
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    return { pipeline, bindGroup: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }) };
  };
  const buffer = (size: number, usage: number): GPUBuffer => device.createBuffer({ label: 'starving', size, usage });
  const counter = buffer(4, STORAGE);
  const chain = [kernel(chainCode, [counter]), kernel(chainCode, [counter])];
  const groups = readBytes / GROUP_BYTES;
  const rounds = buffer(16, UNIFORM | COPY_DST);
  let written = 0;
  const read = kernel(readCode, [rounds, buffer(readBytes, STORAGE), buffer(groups * 256 * 4, STORAGE)]);
  return {
    record: (pass, { dispatches, reads }) => {
      const add = ({ pipeline, bindGroup }: typeof read, workgroups: number): void => {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindGroup);
        pass.dispatchWorkgroups(workgroups);
      };
      for (let i = 0; i < dispatches; i++) add(chain[i % 2]!, 1);
      if (reads === 0) return;
      if (reads !== written) device.queue.writeBuffer(rounds, 0, new Uint32Array([reads, 0, 0, 0]));
      written = reads;
      add(read, groups);
    },
  };
}
