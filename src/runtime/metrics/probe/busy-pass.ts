import flopCode from './flop-f32.wgsl?raw';
import { GpuBench, USAGE, type BenchKernel, type BenchTime } from './gpu-bench.ts';

/** Kernels with something to do: about as many as in the decode step of a small model. */
export const BUSY_KERNELS = 32;
const GROUPS = 8;
const THREADS = 256;

/**
 * A pass whose kernels keep the device busy, as those of a decode step do, and what it costs to add something to it. Measured on their own, the
 * same commands find a device that rests: a software adapter then computes on one of its threads only and looks half as fast, a GPU has
 * lowered its clock.
 */
export class BusyPass {
  readonly #bench: GpuBench;
  readonly #kernel: BenchKernel;

  private constructor(bench: GpuBench, kernel: BenchKernel) {
    this.#bench = bench;
    this.#kernel = kernel;
  }

  static async create(bench: GpuBench): Promise<BusyPass> {
    const rounds = bench.createRounds('work');
    rounds.set(1);
    const out = await bench.buffer('work', GROUPS * THREADS * 4, USAGE.storage);
    return new BusyPass(bench, await bench.kernel('work', flopCode, [rounds.buffer, out]));
  }

  /**
   * Time with the added commands less that without, ms; the two take turns, so call it again for a repeat. `word` is from the pass with them.
   *
   * @param add is called after each of the {@link BUSY_KERNELS} kernels
   * @param result its first word is read back
   */
  async added(
    add: (pass: GPUComputePassEncoder, kernelsLeft: number) => void,
    result: GPUBuffer,
  ): Promise<Omit<BenchTime, 'waitMs'>> {
    const without = await this.#time(() => {}, result);
    const all = await this.#time(add, result);
    return {
      totalMs: all.totalMs - without.totalMs,
      encodeMs: all.encodeMs - without.encodeMs,
      ...(all.gpuMs !== undefined && without.gpuMs !== undefined && { gpuMs: all.gpuMs - without.gpuMs }),
      word: all.word,
    };
  }

  #time(add: (pass: GPUComputePassEncoder, kernelsLeft: number) => void, result: GPUBuffer): Promise<BenchTime> {
    return this.#bench.time((pass) => {
      for (let left = BUSY_KERNELS - 1; left >= 0; left--) {
        GpuBench.record(pass, this.#kernel, GROUPS);
        add(pass, left);
      }
    }, result);
  }
}
