/** What {@link GpuMemory.create} takes besides the size. */
export interface GpuBufferOptions {
  /** @default storage, copy source and copy destination */
  usage?: GPUBufferUsageFlags;
  /** Written at the start of the buffer; its length is a multiple of 4 bytes. */
  data?: Uint8Array | Uint32Array | Float32Array;
}

/**
 * Makes and frees every buffer of one device, and knows how many bytes live at any time: the ledger that must come back to
 * where it began when a backend is disposed of.
 */
export class GpuMemory {
  readonly #device: GPUDevice;
  readonly #live = new Set<GPUBuffer>();
  #bytes = 0;
  #peakBytes = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Bytes of the buffers that live now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Most bytes that lived at one time. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** Makes a zeroed buffer of at least `bytes` (rounded up to 16, so that it can be read as `vec4<u32>`). */
  create(label: string, bytes: number, options: GpuBufferOptions = {}): GPUBuffer {
    const usage = options.usage ?? GPU_STORAGE | GPU_COPY_SRC | GPU_COPY_DST;
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const buffer = this.#device.createBuffer({ label, size, usage });
    this.#live.add(buffer);
    this.#bytes += size;
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
    if (options.data) this.#device.queue.writeBuffer(buffer, 0, options.data);
    return buffer;
  }

  /** Frees a buffer; one that is not alive is left alone. */
  destroy(buffer: GPUBuffer): void {
    if (!this.#live.delete(buffer)) return;
    this.#bytes -= buffer.size;
    buffer.destroy();
  }

  destroyAll(): void {
    for (const buffer of [...this.#live]) this.destroy(buffer);
  }
}

// The constants of the specification: a realm without WebGPU globals (Node with an injected `GPU`) has no GPUBufferUsage.
export const GPU_MAP_READ = 0x0001;
export const GPU_COPY_SRC = 0x0004;
export const GPU_COPY_DST = 0x0008;
export const GPU_STORAGE = 0x0080;
export const GPU_QUERY_RESOLVE = 0x0200;
