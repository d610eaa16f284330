import { systemClock } from '../../shared/clock.ts';
import { GpuBench } from '../metrics/probe/gpu-bench.ts';
import { createProbeKernels, type ProbeKernels } from '../metrics/probe/probe-kernels.ts';

/** What every step is made to do in addition. */
export interface Starving {
  /** Keeps the thread busy before the step's commands are submitted, ms. */
  hostMs: number;
  /** Lets the step's result wait that much longer, ms. */
  waitMs: number;
  /** Dispatches that do next to nothing, between the step's own: each waits for the one before and changes pipeline and bind group. */
  dispatches: number;
  /** Reads a buffer of other data so many times, at the end of the step's own pass. */
  reads: number;
}

export const NOT_STARVED: Starving = { hostMs: 0, waitMs: 0, dispatches: 0, reads: 0 };

const MAP_READ = 0x1;

/** A device that was changed, and what it is made to do in addition. */
export interface StarvedDevice {
  device: GPUDevice;
  kernels: ProbeKernels;
  /** Bytes of one read. */
  readBytes: number;
}

/**
 * A `GPU` whose devices do more than they are asked for, to see whether the diagnosis names what was added. Only the passes that are labelled `step`
 * are touched; what is computed stays the same.
 */
export class StarvedGpu {
  /** Hand this to the engine (`gpu`), in the thread that runs it. */
  readonly gpu: GPU;
  starving: Starving = NOT_STARVED;
  readonly #readBytes: number;
  /** Time that `hostMs` and `waitMs` really took since it was set to 0, ms: timers are not exact. */
  addedMs = 0;
  #device: StarvedDevice | undefined;

  /** Of the newest device; absent before the engine has asked for one. */
  get device(): StarvedDevice | undefined {
    return this.#device;
  }

  constructor(gpu: GPU, readBytes: number) {
    this.#readBytes = readBytes;
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
      await this.#changeDevice(device);
      return device;
    };
  }

  async #changeDevice(device: GPUDevice): Promise<void> {
    const kernels = await createProbeKernels(new GpuBench(device, systemClock), this.#readBytes);
    this.#device = { device, kernels, readBytes: kernels.read?.bytes ?? 0 };
    const spread = spreader(kernels);
    const createCommandEncoder = device.createCommandEncoder.bind(device);
    const stepCommands = new WeakSet<GPUCommandBuffer>();
    device.createCommandEncoder = (descriptor) => {
      const encoder = createCommandEncoder(descriptor);
      if (descriptor?.label !== 'step') return encoder;
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (of) => {
        const pass = begin(of);
        spread(pass, this.starving);
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

/**
 * Has a pass do more, with the kernels of the probe, whose cost it has measured: dispatches in equal numbers after each of the pass's own, reads
 * at its end.
 */
function spreader({ chain, read }: ProbeKernels): (pass: GPUComputePassEncoder, starving: Starving) => void {
  /** Kernels of the step before: the next one has as many. */
  let kernelsBefore = 1;
  let roundsSet = 0;
  return (pass, { dispatches, reads }) => {
    const setPipeline = pass.setPipeline.bind(pass);
    const end = pass.end.bind(pass);
    let kernels = 0;
    let added = 0;
    let ours = false;
    const addUntil = (wanted: number): void => {
      if (wanted <= added) return;
      ours = true;
      chain.record(pass, wanted - added);
      ours = false;
      added = wanted;
    };
    pass.setPipeline = (pipeline): undefined => {
      if (!ours) {
        addUntil(Math.min(dispatches, Math.floor((dispatches * kernels) / kernelsBefore)));
        kernels += 1;
      }
      setPipeline(pipeline);
    };
    pass.end = (): undefined => {
      kernelsBefore = kernels;
      addUntil(dispatches);
      ours = true;
      if (reads > 0) {
        if (reads !== roundsSet) read?.rounds.set(reads);
        roundsSet = reads;
        read?.record(pass);
      }
      end();
    };
  };
}
