import type { Tensor } from 'onnxruntime-web';
import { BUFFER_USAGE, MAP_READ } from './gpu-flags.ts';
import type { OrtModule } from './ort-runtime.ts';

/** Element types that KV has in ONNX models. */
export type KvType = 'float32' | 'float16';

/** How the session wants KV: per layer a key and a value of shape [1, kvHeads, tokens, headDim], in this order. */
export interface KvLayout {
  /** Names of the inputs and of the outputs that follow them: key and value of layer 0, of layer 1, ... */
  readonly past: readonly string[];
  readonly present: readonly string[];
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly type: KvType;
}

/** KV of the tokens `start` to before `end` of a sequence, in CPU memory; may be cloned, stored and given to another session. */
export interface KvBlock {
  start: number;
  end: number;
  type: KvType;
  /** Key and value of layer 0, of layer 1, ...: elements of shape [kvHeads, end - start, headDim]. */
  tensors: readonly Uint8Array<ArrayBuffer>[];
}

/** KV tensors of a sequence, one per name of the layout. Empty: the sequence has no KV. */
export type KvTensors = readonly Tensor[];

export const elementBytes = (type: KvType): number => (type === 'float32' ? 4 : 2);

/** Bytes of KV for one token, all layers. */
export const kvBytesPerToken = (layout: KvLayout): number =>
  layout.past.length * layout.kvHeads * layout.headDim * elementBytes(layout.type);

/** Tokens that the tensors hold. */
export const kvLength = (tensors: KvTensors): number => tensors[0]?.dims[2] ?? 0;

export function disposeKv(tensors: KvTensors): void {
  for (const tensor of tensors) tensor.dispose();
}

/** A CPU tensor over these bytes (not copied). */
export function cpuTensor(ort: OrtModule, layout: KvLayout, tokens: number, bytes: Uint8Array<ArrayBuffer>): Tensor {
  const { buffer, byteOffset } = bytes;
  const elements = layout.kvHeads * tokens * layout.headDim;
  const dims = [1, layout.kvHeads, tokens, layout.headDim];
  if (layout.type === 'float32') return new ort.Tensor('float32', new Float32Array(buffer, byteOffset, elements), dims);
  // Where the engine has Float16Array, onnxruntime-web wants that and not the bits.
  const Float16 = (globalThis as { Float16Array?: Uint16ArrayConstructor }).Float16Array ?? Uint16Array;
  return new ort.Tensor('float16', new Float16(buffer, byteOffset, elements), dims);
}

/** What is fed where a sequence has no KV yet. */
export const emptyTensor = (ort: OrtModule, layout: KvLayout): Tensor =>
  cpuTensor(ort, layout, 0, new Uint8Array(new ArrayBuffer(0)));

/**
 * The first `tokens` tokens of each tensor as new tensors: copied on the GPU where they lie on the GPU. The old ones stay.
 * @param device of the tensors; absent on WASM
 */
export function sliceKv(
  ort: OrtModule,
  layout: KvLayout,
  tensors: KvTensors,
  tokens: number,
  device?: GPUDevice,
): KvTensors {
  if (tokens === 0) return [];
  const encoder = device?.createCommandEncoder({ label: 'tokenglass onnx kv truncate' });
  const sliced = tensors.map((tensor) =>
    tensor.location === 'gpu-buffer' && device && encoder
      ? sliceOnGpu(ort, layout, tensor, tokens, device, encoder)
      : cpuTensor(ort, layout, tokens, rowsOf(layout, bytesOf(tensor), kvLength([tensor]), 0, tokens)),
  );
  if (device && encoder) device.queue.submit([encoder.finish()]);
  return sliced;
}

function sliceOnGpu(
  ort: OrtModule,
  layout: KvLayout,
  tensor: Tensor,
  tokens: number,
  device: GPUDevice,
  encoder: GPUCommandEncoder,
): Tensor {
  const rowBytes = layout.headDim * elementBytes(layout.type);
  // [1, kvHeads, tokens, headDim]; onnxruntime-web reads whole 16-byte units.
  const buffer = device.createBuffer({
    label: 'tokenglass onnx kv',
    size: Math.ceil((layout.kvHeads * tokens * rowBytes) / 16) * 16,
    usage: BUFFER_USAGE.storage | BUFFER_USAGE.copySrc | BUFFER_USAGE.copyDst,
  });
  const from = kvLength([tensor]) * rowBytes;
  const to = tokens * rowBytes;
  for (let head = 0; head < layout.kvHeads; head += 1)
    encoder.copyBufferToBuffer(tensor.gpuBuffer, head * from, buffer, head * to, to);
  return ort.Tensor.fromGpuBuffer(buffer, {
    dataType: layout.type,
    dims: [1, layout.kvHeads, tokens, layout.headDim],
    dispose: () => buffer.destroy(),
  });
}

/** Bytes of a tensor that lies in CPU memory; a view. */
function bytesOf(tensor: Tensor): Uint8Array {
  const data = tensor.data as Float32Array;
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Rows `start` to before `end` of each head, of [kvHeads, length, headDim], as a copy. */
function rowsOf(
  layout: KvLayout,
  bytes: Uint8Array,
  length: number,
  start: number,
  end: number,
): Uint8Array<ArrayBuffer> {
  const rowBytes = layout.headDim * elementBytes(layout.type);
  const out = new Uint8Array(layout.kvHeads * (end - start) * rowBytes);
  for (let head = 0; head < layout.kvHeads; head += 1) {
    const from = head * length * rowBytes;
    const rows = bytes.subarray(from + start * rowBytes, from + end * rowBytes);
    out.set(rows, head * (end - start) * rowBytes);
  }
  return out;
}

/** Copies tokens `start` to before `end` to CPU memory. */
export async function downloadKv(
  layout: KvLayout,
  tensors: KvTensors,
  start: number,
  end: number,
  device?: GPUDevice,
): Promise<KvBlock> {
  const length = kvLength(tensors);
  const copies: Uint8Array<ArrayBuffer>[] = [];
  for (const tensor of tensors) {
    const bytes = tensor.location === 'gpu-buffer' && device ? await readGpu(device, layout, tensor) : bytesOf(tensor);
    copies.push(rowsOf(layout, bytes, length, start, end));
  }
  return { start, end, type: layout.type, tensors: copies };
}

async function readGpu(device: GPUDevice, layout: KvLayout, tensor: Tensor): Promise<Uint8Array> {
  const size = layout.kvHeads * kvLength([tensor]) * layout.headDim * elementBytes(layout.type);
  const staging = device.createBuffer({
    label: 'tokenglass onnx kv download',
    size,
    usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyDst,
  });
  try {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(tensor.gpuBuffer, 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(MAP_READ);
    return new Uint8Array(staging.getMappedRange().slice(0));
  } finally {
    staging.destroy();
  }
}

/**
 * Blocks that follow each other, joined to tensors in CPU memory (onnxruntime-web uploads them with the next run).
 * @throws RangeError if they do not begin at 0, have a gap, or are of another layout
 */
export function joinKv(ort: OrtModule, layout: KvLayout, blocks: readonly KvBlock[]): KvTensors {
  const rowBytes = layout.headDim * elementBytes(layout.type);
  let length = 0;
  for (const { start, end, type, tensors } of blocks) {
    const fits = tensors.every((bytes) => bytes.length === layout.kvHeads * (end - start) * rowBytes);
    if (start !== length || end < start)
      throw new RangeError(`Cannot import KV: a block begins at ${start}, not ${length}`);
    if (type !== layout.type || tensors.length !== layout.past.length || !fits)
      throw new RangeError('Cannot import KV: a block has another layout than this model');
    length = end;
  }
  if (length === 0) return [];
  return layout.past.map((_, index) => {
    const bytes = new Uint8Array(layout.kvHeads * length * rowBytes);
    for (const { start, end, tensors } of blocks) {
      const rows = (end - start) * rowBytes;
      for (let head = 0; head < layout.kvHeads; head += 1)
        bytes.set(tensors[index]!.subarray(head * rows, (head + 1) * rows), (head * length + start) * rowBytes);
    }
    return cpuTensor(ort, layout, length, bytes);
  });
}
