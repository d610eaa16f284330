import type { Tensor } from 'onnxruntime-web';
import { BUFFER_USAGE, MAP_READ } from './gpu-flags.ts';

/** Brings the logits of the last token to f32 in CPU memory. Its buffers are made once. */
export class LogitsReader {
  readonly #vocabSize: number;
  readonly #device: GPUDevice | undefined;
  readonly #logits: Float32Array<ArrayBuffer>;
  #staging: GPUBuffer | undefined;

  constructor(vocabSize: number, device?: GPUDevice) {
    this.#vocabSize = vocabSize;
    this.#device = device;
    this.#logits = new Float32Array(vocabSize);
  }

  /** @param tensor [1, rows, vocabSize], float32 or float16. Resolves to an array that the next call overwrites. */
  async read(tensor: Tensor): Promise<Float32Array> {
    const row = tensor.dims[1]! - 1;
    const isHalf = tensor.type === 'float16';
    if (tensor.location !== 'gpu-buffer' || !this.#device) {
      const data = tensor.data as Float32Array | Uint16Array;
      this.#take(data.subarray(row * this.#vocabSize, (row + 1) * this.#vocabSize), isHalf);
      return this.#logits;
    }
    const bytes = this.#vocabSize * (isHalf ? 2 : 4);
    // Copies are of whole 4 bytes: with an odd vocabulary of f16, one element before the row comes along.
    const start = Math.floor((row * bytes) / 4) * 4;
    const size = Math.ceil((row * bytes + bytes - start) / 4) * 4;
    this.#staging ??= this.#device.createBuffer({
      label: 'tokenglass onnx logits',
      size: Math.ceil(bytes / 4) * 4 + 4,
      usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyDst,
    });
    const encoder = this.#device.createCommandEncoder({ label: 'tokenglass onnx logits' });
    encoder.copyBufferToBuffer(tensor.gpuBuffer, start, this.#staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await this.#staging.mapAsync(MAP_READ, 0, size);
    const range = this.#staging.getMappedRange(0, size);
    const offset = row * bytes - start;
    this.#take(isHalf ? new Uint16Array(range, offset, this.#vocabSize) : new Float32Array(range, offset), isHalf);
    this.#staging.unmap();
    return this.#logits;
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
