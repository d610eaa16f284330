import type { Tensor } from 'onnxruntime-web';
import { BUFFER_USAGE, MAP_READ } from '../gpu/gpu-flags.ts';

/** Brings logits to f32 in CPU memory. Its buffers are made once, and again where more are read than before. */
export class LogitsReader {
  readonly #vocabSize: number;
  readonly #device: GPUDevice | undefined;
  #logits = new Float32Array(0);
  #staging: GPUBuffer | undefined;

  constructor(vocabSize: number, device?: GPUDevice) {
    this.#vocabSize = vocabSize;
    this.#device = device;
  }

  /**
   * The last `count` of all positions, one after the other as the tensor has them: all rows of a batch of one token each, or the last ones of
   * a single row.
   * @param tensor [rows, positions, vocabSize], float32 or float16. Resolves to views that the next call overwrites.
   */
  async read(tensor: Tensor, count: number): Promise<Float32Array[]> {
    const first = tensor.dims[0]! * tensor.dims[1]! - count;
    const elements = count * this.#vocabSize;
    const isHalf = tensor.type === 'float16';
    if (this.#logits.length < elements) this.#logits = new Float32Array(elements);
    if (tensor.location !== 'gpu-buffer' || !this.#device) {
      const data = tensor.data as Float32Array | Uint16Array;
      this.#take(data.subarray(first * this.#vocabSize, (first + count) * this.#vocabSize), isHalf);
    } else await this.#readGpu(this.#device, tensor.gpuBuffer, { first, elements, isHalf });
    return Array.from({ length: count }, (_, index) =>
      this.#logits.subarray(index * this.#vocabSize, (index + 1) * this.#vocabSize),
    );
  }

  async #readGpu(
    device: GPUDevice,
    buffer: GPUBuffer,
    { first, elements, isHalf }: { first: number; elements: number; isHalf: boolean },
  ): Promise<void> {
    const elementBytes = isHalf ? 2 : 4;
    const from = first * this.#vocabSize * elementBytes;
    // Copies are of whole 4 bytes: with an odd vocabulary of f16, one element before the first comes along.
    const start = Math.floor(from / 4) * 4;
    const size = Math.ceil((from + elements * elementBytes - start) / 4) * 4;
    const staging = this.#stagingOf(device, size);
    const encoder = device.createCommandEncoder({ label: 'tokenglass onnx logits' });
    encoder.copyBufferToBuffer(buffer, start, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(MAP_READ, 0, size);
    const range = staging.getMappedRange(0, size);
    this.#take(
      isHalf ? new Uint16Array(range, from - start, elements) : new Float32Array(range, from - start, elements),
      isHalf,
    );
    staging.unmap();
  }

  #stagingOf(device: GPUDevice, size: number): GPUBuffer {
    if (this.#staging && this.#staging.size >= size) return this.#staging;
    this.#staging?.destroy();
    this.#staging = device.createBuffer({
      label: 'tokenglass onnx logits',
      size: size + 4, // the next read of as many may begin at an odd half
      usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyDst,
    });
    return this.#staging;
  }

  #take(data: ArrayLike<number> & ArrayBufferView, isHalf: boolean): void {
    if (!isHalf || !(data instanceof Uint16Array)) this.#logits.set(data);
    else for (let i = 0; i < data.length; i++) this.#logits[i] = halfToFloat(data[i]!);
  }

  destroy(): void {
    this.#staging?.destroy();
    this.#staging = undefined;
  }
}

/** The number that the 16 bits of a half-precision float stand for. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
