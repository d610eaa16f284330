import type { GpuContext } from './device.ts';
import { GPU_COPY_DST, GPU_COPY_SRC, GPU_MAP_READ } from './memory.ts';
import type { PlanBuffers } from './plan/buffers.ts';

const MAP_READ = 1;
const MAP_WRITE = 2;
const GPU_MAP_WRITE = 0x0002;
/** Bytes of a staging buffer: what one read or write holds on to beside the KV itself. */
const STAGING_BYTES = 16 << 20;

/**
 * The bytes of KV blocks in the pool. A block on the outside is, layer by layer, its keys and then its values, as they lie in the buffers of the
 * layers (kernels/attention/head.wgsl).
 */
export class KvMemory {
  /** Bytes of a block, all layers. */
  readonly blockBytes: number;
  readonly #gpu: GpuContext;
  /** Keys of layer 0, values of layer 0, keys of layer 1, ... */
  readonly #halves: readonly GPUBuffer[];
  readonly #halfBytes: number;

  constructor(gpu: GpuContext, { keys, values }: Pick<PlanBuffers, 'keys' | 'values'>, halfBytes: number) {
    this.#gpu = gpu;
    this.#halves = keys.flatMap((key, layer) => [key, values[layer]!]);
    this.#halfBytes = halfBytes;
    this.blockBytes = this.#halves.length * halfBytes;
  }

  /** Copies a block to another, in queue order. */
  copy(from: number, to: number): void {
    const { device, memory } = this.#gpu;
    const encoder = device.createCommandEncoder({ label: 'kv copy' });
    const between = memory.create('kv copy', this.blockBytes); // a buffer cannot be copied to itself
    this.#each((buffer, at) =>
      encoder.copyBufferToBuffer(buffer, from * this.#halfBytes, between, at, this.#halfBytes),
    );
    this.#each((buffer, at) => encoder.copyBufferToBuffer(between, at, buffer, to * this.#halfBytes, this.#halfBytes));
    device.queue.submit([encoder.finish()]);
    memory.destroy(between);
  }

  /** Bytes of blocks as they are after what was submitted before the call, which may give the blocks away at once. */
  async read(blocks: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    const reads = this.#batches(blocks).map((batch) => this.#read(batch));
    return (await Promise.all(reads)).flat();
  }

  /** Writes blocks, in queue order. */
  async write(blocks: readonly number[], data: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    const { device, memory, watchdog } = this.#gpu;
    let first = 0;
    for (const batch of this.#batches(blocks)) {
      const staging = memory.create('kv write', batch.length * this.blockBytes, {
        usage: GPU_MAP_WRITE | GPU_COPY_SRC,
      });
      try {
        await watchdog.watch('write KV', staging.mapAsync(MAP_WRITE));
        const bytes = new Uint8Array(staging.getMappedRange());
        for (let i = 0; i < batch.length; i++) bytes.set(data[first + i]!, i * this.blockBytes);
        staging.unmap();
        const encoder = device.createCommandEncoder({ label: 'kv write' });
        for (const [i, block] of batch.entries())
          this.#each((buffer, at) =>
            encoder.copyBufferToBuffer(
              staging,
              i * this.blockBytes + at,
              buffer,
              block * this.#halfBytes,
              this.#halfBytes,
            ),
          );
        device.queue.submit([encoder.finish()]);
      } finally {
        memory.destroy(staging);
      }
      first += batch.length;
    }
  }

  async #read(blocks: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    const { device, memory, watchdog } = this.#gpu;
    const staging = memory.create('kv read', blocks.length * this.blockBytes, { usage: GPU_MAP_READ | GPU_COPY_DST });
    try {
      const encoder = device.createCommandEncoder({ label: 'kv read' });
      for (const [i, block] of blocks.entries())
        this.#each((buffer, at) =>
          encoder.copyBufferToBuffer(
            buffer,
            block * this.#halfBytes,
            staging,
            i * this.blockBytes + at,
            this.#halfBytes,
          ),
        );
      device.queue.submit([encoder.finish()]);
      await watchdog.watch('read KV', staging.mapAsync(MAP_READ));
      const bytes = staging.getMappedRange();
      return blocks.map((_, i) => new Uint8Array(bytes.slice(i * this.blockBytes, (i + 1) * this.blockBytes)));
    } finally {
      memory.destroy(staging);
    }
  }

  /** Calls `work` with the buffer of each half and its place within a block's bytes. */
  #each(work: (buffer: GPUBuffer, at: number) => void): void {
    for (const [index, buffer] of this.#halves.entries()) work(buffer, index * this.#halfBytes);
  }

  #batches(blocks: readonly number[]): number[][] {
    const size = Math.max(1, Math.floor(STAGING_BYTES / this.blockBytes));
    const batches: number[][] = [];
    for (let at = 0; at < blocks.length; at += size) batches.push(blocks.slice(at, at + size));
    return batches;
  }
}
