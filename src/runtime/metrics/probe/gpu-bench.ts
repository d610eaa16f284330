import type { Clock } from '../../../shared/clock.ts';
import { TokenglassError } from '../../../shared/errors.ts';

/** Flags of `GPUBufferUsage`, which is not there in every place that has WebGPU. */
export const USAGE = {
  mapRead: 0x1,
  copySrc: 0x4,
  copyDst: 0x8,
  uniform: 0x40,
  storage: 0x80,
  queryResolve: 0x200,
} as const;
const MAP_READ = 0x1;
const TIMESTAMP_BYTES = 16;

export interface BenchKernel {
  pipeline: GPUComputePipeline;
  bindGroup: GPUBindGroup;
}

/** What one timed pass took, ms. */
export interface BenchTime {
  /** From the first command to the result in CPU memory. */
  totalMs: number;
  /** Of it, recording commands. */
  encodeMs: number;
  /** Of it, from the submit on. */
  waitMs: number;
  /** Between the timestamps of the pass; absent where there are none, or none that make sense. */
  gpuMs?: number;
  /** First word of the buffer that was read back. */
  word: number;
}

/** A u32 that a kernel takes as a uniform: how often it does its work. */
export interface Rounds {
  buffer: GPUBuffer;
  /** Takes effect for passes submitted later. */
  set: (count: number) => void;
}

/** Runs passes on a device and times them. All that it makes is freed by `destroy`. */
export class GpuBench {
  readonly device: GPUDevice;
  readonly #clock: Clock;
  readonly #buffers = new Set<GPUBuffer>();
  readonly #readback: GPUBuffer;
  readonly #queries: GPUQuerySet | undefined;
  readonly #timestamps: GPUBuffer | undefined;

  constructor(device: GPUDevice, clock: Clock) {
    this.device = device;
    this.#clock = clock;
    this.#readback = this.#create('readback', 4 + 4 + TIMESTAMP_BYTES, USAGE.mapRead | USAGE.copyDst);
    if (device.features.has('timestamp-query')) {
      this.#queries = device.createQuerySet({ label: 'tokenglass probe', type: 'timestamp', count: 2 });
      this.#timestamps = this.#create('timestamps', TIMESTAMP_BYTES, USAGE.queryResolve | USAGE.copySrc);
    }
  }

  static record(pass: GPUComputePassEncoder, { pipeline, bindGroup }: BenchKernel, groups: number): void {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(groups);
  }

  createRounds(label: string): Rounds {
    const buffer = this.#create(`rounds of ${label}`, 16, USAGE.uniform | USAGE.copyDst);
    return { buffer, set: (count) => this.device.queue.writeBuffer(buffer, 0, new Uint32Array([count])) };
  }

  /** @throws TokenglassError `model-too-large` if there is no memory for it */
  async buffer(label: string, bytes: number, usage: number): Promise<GPUBuffer> {
    const buffer = await this.tryBuffer(label, bytes, usage);
    if (buffer) return buffer;
    throw new TokenglassError(
      'model-too-large',
      `Cannot probe the GPU: ${bytes} bytes of memory are not left; unload a model first`,
    );
  }

  /** A buffer, or nothing if there is no memory for it. */
  async tryBuffer(label: string, bytes: number, usage: number): Promise<GPUBuffer | undefined> {
    this.device.pushErrorScope('out-of-memory');
    let buffer: GPUBuffer | undefined;
    let failed: Promise<GPUError | null>;
    try {
      buffer = this.#create(label, bytes, usage);
    } finally {
      failed = this.device.popErrorScope();
    }
    if (!(await failed)) return buffer;
    this.free(buffer);
    return undefined;
  }

  free(buffer: GPUBuffer): void {
    buffer.destroy();
    this.#buffers.delete(buffer);
  }

  /** Compiles a kernel and binds buffers in the order of its bindings. @throws TokenglassError `internal` with what the compiler says */
  async kernel(label: string, code: string, buffers: readonly GPUBuffer[]): Promise<BenchKernel> {
    const { device } = this;
    const module = device.createShaderModule({ label: `tokenglass probe ${label}`, code });
    let pipeline: GPUComputePipeline;
    try {
      pipeline = await device.createComputePipelineAsync({
        label: `tokenglass probe ${label}`,
        layout: 'auto',
        compute: { module, entryPoint: 'main' },
      });
    } catch (cause) {
      const { messages } = await module.getCompilationInfo();
      const what = messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`).join('; ');
      throw new TokenglassError('internal', `Cannot compile the probe's kernel ${label}: ${what || String(cause)}`, {
        cause,
      });
    }
    const bindGroup = device.createBindGroup({
      label: `tokenglass probe ${label}`,
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    return { pipeline, bindGroup };
  }

  /** Records one pass, runs it, and reads the first word of `result`. */
  async time(record: (pass: GPUComputePassEncoder) => void, result: GPUBuffer): Promise<BenchTime> {
    const { device } = this;
    const queries = this.#queries;
    const startMs = this.#clock.now();
    const encoder = device.createCommandEncoder({ label: 'tokenglass probe' });
    const pass = encoder.beginComputePass({
      label: 'tokenglass probe',
      ...(queries && {
        timestampWrites: { querySet: queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
      }),
    });
    record(pass);
    pass.end();
    encoder.copyBufferToBuffer(result, 0, this.#readback, 0, 4);
    if (queries && this.#timestamps) {
      encoder.resolveQuerySet(queries, 0, 2, this.#timestamps, 0);
      encoder.copyBufferToBuffer(this.#timestamps, 0, this.#readback, 8, TIMESTAMP_BYTES);
    }
    const commands = encoder.finish();
    const encodedMs = this.#clock.now();
    device.queue.submit([commands]);
    await this.#readback.mapAsync(MAP_READ);
    const endMs = this.#clock.now();
    const mapped = this.#readback.getMappedRange();
    const word = new Uint32Array(mapped, 0, 1)[0]!;
    const [begin, end] = new BigUint64Array(mapped, 8, 2) as unknown as [bigint, bigint];
    this.#readback.unmap();
    return {
      totalMs: endMs - startMs,
      encodeMs: encodedMs - startMs,
      waitMs: endMs - encodedMs,
      ...(queries && end > begin && { gpuMs: Number(end - begin) / 1e6 }),
      word,
    };
  }

  /** Frees everything; twice is safe. The device stays. */
  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy();
    this.#buffers.clear();
    this.#queries?.destroy();
  }

  #create(label: string, size: number, usage: number): GPUBuffer {
    const buffer = this.device.createBuffer({ label: `tokenglass probe ${label}`, size, usage });
    this.#buffers.add(buffer);
    return buffer;
  }
}
