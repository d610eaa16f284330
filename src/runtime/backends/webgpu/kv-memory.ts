import type { GpuContext } from './device.ts';
import { GPU_COPY_DST, GPU_COPY_SRC, GPU_MAP_READ } from './memory.ts';
import type { Pages } from './plan/gpu-block.ts';

const MAP_READ = 1;
const MAP_WRITE = 2;
const GPU_MAP_WRITE = 0x0002;
/** Bytes of a staging buffer: what one read or write holds on to beside the KV itself. */
const STAGING_BYTES = 16 << 20;

/**
 * The bytes of pages that lie in several buffers, a part in each: KV blocks. A page on the outside is its parts, block by block of the model: keys and then
 * values, as they lie in the buffers (blocks/attention/webgpu/head.wgsl).
 */
export class KvMemory {
  /** Bytes of a page, all parts. */
  readonly blockBytes: number;
  readonly #gpu: GpuContext;
  readonly #parts: readonly (Pages & { at: number })[];

  constructor(gpu: GpuContext, pages: readonly Pages[]) {
    this.#gpu = gpu;
    let at = 0;
    this.#parts = pages.map((part) => {
      const from = at;
      at += part.bytes;
      return { ...part, at: from };
    });
    this.blockBytes = at;
  }

  /** Copies a block to another, in queue order. */
  copy(from: number, to: number): void {
    const { device, memory } = this.#gpu;
    const encoder = device.createCommandEncoder({ label: 'kv copy' });
    const between = memory.create('kv copy', this.blockBytes); // a buffer cannot be copied to itself
    for (const { buffer, bytes, at } of this.#parts)
      encoder.copyBufferToBuffer(buffer, from * bytes, between, at, bytes);
    for (const { buffer, bytes, at } of this.#parts) encoder.copyBufferToBuffer(between, at, buffer, to * bytes, bytes);
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
        const mapped = new Uint8Array(staging.getMappedRange());
        for (let i = 0; i < batch.length; i++) mapped.set(data[first + i]!, i * this.blockBytes);
        staging.unmap();
        const encoder = device.createCommandEncoder({ label: 'kv write' });
        for (const [i, block] of batch.entries())
          for (const { buffer, bytes, at } of this.#parts)
            encoder.copyBufferToBuffer(staging, i * this.blockBytes + at, buffer, block * bytes, bytes);
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
        for (const { buffer, bytes, at } of this.#parts)
          encoder.copyBufferToBuffer(buffer, block * bytes, staging, i * this.blockBytes + at, bytes);
      device.queue.submit([encoder.finish()]);
      await watchdog.watch('read KV', staging.mapAsync(MAP_READ));
      const mapped = staging.getMappedRange();
      return blocks.map((_, i) => new Uint8Array(mapped.slice(i * this.blockBytes, (i + 1) * this.blockBytes)));
    } finally {
      memory.destroy(staging);
    }
  }

  #batches(blocks: readonly number[]): number[][] {
    const size = Math.max(1, Math.floor(STAGING_BYTES / this.blockBytes));
    const batches: number[][] = [];
    for (let at = 0; at < blocks.length; at += size) batches.push(blocks.slice(at, at + size));
    return batches;
  }
}
