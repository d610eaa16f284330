import type { GpuContext } from './device.ts';
import { GPU_COPY_DST, GPU_MAP_READ } from './memory.ts';

const MAP_READ = 1;

/** Mapped buffers that results come back through, one a step in flight, used again and again. */
export class ReadbackRing {
  readonly #gpu: Pick<GpuContext, 'memory' | 'watchdog'>;
  readonly #all: readonly GPUBuffer[];
  readonly #free: GPUBuffer[];

  constructor(gpu: Pick<GpuContext, 'memory' | 'watchdog'>, count: number, bytes: number) {
    this.#gpu = gpu;
    this.#all = Array.from({ length: count }, (_, i) =>
      gpu.memory.create(`readback ${i}`, bytes, { usage: GPU_MAP_READ | GPU_COPY_DST }),
    );
    this.#free = [...this.#all];
  }

  /** A buffer to copy results to, before submit. There are as many as there may be steps in flight. */
  take(): GPUBuffer {
    const buffer = this.#free.pop();
    if (!buffer) throw new RangeError('Cannot read back: every buffer is in use; await a step first');
    return buffer;
  }

  /** Copies what was read once it is there, and frees the buffer. Call it after submit. */
  async read(buffer: GPUBuffer, bytes: number): Promise<ArrayBuffer> {
    try {
      await this.#gpu.watchdog.watch('read the result of a step', buffer.mapAsync(MAP_READ, 0, bytes));
      const copy = buffer.getMappedRange(0, bytes).slice(0);
      buffer.unmap();
      return copy;
    } finally {
      this.#free.push(buffer);
    }
  }

  destroy(): void {
    for (const buffer of this.#all) this.#gpu.memory.destroy(buffer);
  }
}
