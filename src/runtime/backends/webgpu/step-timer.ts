import { GPU_COPY_SRC, GPU_QUERY_RESOLVE, type GpuMemory } from './memory.ts';

/** Bytes of one step's two timestamps. */
export const TIMER_BYTES = 16;

/** Browsers round timestamps to 0.1 ms, and the clock by as much. */
const ROUNDING_MS = 0.2;

/** Timestamps around the pass of a step, for `gpuMs`. */
export class StepTimer {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #memory: GpuMemory;

  constructor(device: GPUDevice, memory: GpuMemory) {
    this.#memory = memory;
    this.#queries = device.createQuerySet({ label: 'step', type: 'timestamp', count: 2 });
    this.#resolved = memory.create('timestamps', TIMER_BYTES, { usage: GPU_QUERY_RESOLVE | GPU_COPY_SRC });
  }

  /** For the pass descriptor. */
  get writes(): GPUComputePassTimestampWrites {
    return { querySet: this.#queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  }

  /** After the pass: copies both timestamps to `buffer`. */
  copyTo(encoder: GPUCommandEncoder, buffer: GPUBuffer, offset: number): void {
    encoder.resolveQuerySet(this.#queries, 0, 2, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, buffer, offset, TIMER_BYTES);
  }

  /**
   * Milliseconds between the two; undefined where the device gave no sensible ones.
   * @param mostMs by the clock of the CPU, from before the submit until the result was there: some drivers leave one timestamp at 0
   */
  static milliseconds(result: ArrayBuffer, offset: number, mostMs: number): number | undefined {
    const [begin, end] = new BigUint64Array(result, offset, 2) as unknown as [bigint, bigint];
    const ms = Number(end - begin) / 1e6;
    return ms > 0 && ms <= mostMs + ROUNDING_MS ? ms : undefined;
  }

  destroy(): void {
    this.#queries.destroy();
    this.#memory.destroy(this.#resolved);
  }
}
