import { BUFFER_USAGE, MAP_READ } from '../gpu/gpu-flags.ts';
import { headOffset, KvBatch, type KvRow } from './kv-batch.ts';
import { bytesOf, cpuTensor, kvTokenBytes, type KvLayout, type KvType } from './kv-tensors.ts';
import type { OrtModule } from './ort-runtime.ts';

/** KV of the tokens `start` to before `end` of a sequence, in CPU memory; may be cloned, stored and given to another session. */
export interface KvBlock {
  start: number;
  end: number;
  type: KvType;
  /** Key and value of layer 0, of layer 1, ...: elements of shape [kvHeads, end - start, headDim]. */
  tensors: readonly Uint8Array<ArrayBuffer>[];
}

/** Copies tokens `start` to before `end` of a row to CPU memory. */
export async function downloadKv(
  layout: KvLayout,
  kv: KvRow | undefined,
  { start, end }: { start: number; end: number },
  device?: GPUDevice,
): Promise<KvBlock> {
  const { type } = layout;
  if (!kv || start === end) return { start, end, type, tensors: layout.past.map(() => new Uint8Array(0)) };
  const isOnGpu = kv.batch.tensors[0]!.location === 'gpu-buffer';
  const tensors =
    isOnGpu && device ? await readGpu(device, layout, kv, [start, end]) : readCpu(layout, kv, [start, end]);
  return { start, end, type, tensors };
}

type Range = readonly [start: number, end: number];

function readCpu(layout: KvLayout, { batch, row }: KvRow, [start, end]: Range): Uint8Array<ArrayBuffer>[] {
  const tokenBytes = kvTokenBytes(layout);
  const size = (end - start) * tokenBytes;
  return batch.tensors.map((tensor) => {
    const bytes = bytesOf(tensor);
    const out = new Uint8Array(layout.kvHeads * size);
    for (let head = 0; head < layout.kvHeads; head += 1) {
      const from = headOffset(layout, batch.capacity, row, head) + start * tokenBytes;
      out.set(bytes.subarray(from, from + size), head * size);
    }
    return out;
  });
}

/** A buffer for each tensor, because all of them in one may be larger than a buffer can be; the GPU is waited for once. */
async function readGpu(
  device: GPUDevice,
  layout: KvLayout,
  { batch, row }: KvRow,
  [start, end]: Range,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const tokenBytes = kvTokenBytes(layout);
  const size = (end - start) * tokenBytes;
  const encoder = device.createCommandEncoder({ label: 'tokenglass onnx kv download' });
  const staging = batch.tensors.map((tensor) => {
    const buffer = device.createBuffer({
      label: 'tokenglass onnx kv download',
      size: layout.kvHeads * size,
      usage: BUFFER_USAGE.mapRead | BUFFER_USAGE.copyDst,
    });
    for (let head = 0; head < layout.kvHeads; head += 1) {
      const from = headOffset(layout, batch.capacity, row, head) + start * tokenBytes;
      encoder.copyBufferToBuffer(tensor.gpuBuffer, from, buffer, head * size, size);
    }
    return buffer;
  });
  try {
    device.queue.submit([encoder.finish()]);
    await Promise.all(staging.map((buffer) => buffer.mapAsync(MAP_READ)));
    return staging.map((buffer) => new Uint8Array(buffer.getMappedRange().slice(0)));
  } finally {
    for (const buffer of staging) buffer.destroy();
  }
}

/**
 * Blocks that follow each other, joined to a batch of one row in CPU memory (uploaded with the next run). Undefined for no tokens.
 * @throws RangeError if they do not begin at 0, have a gap, or are of another layout
 */
export function joinKv(ort: OrtModule, layout: KvLayout, blocks: readonly KvBlock[]): KvBatch | undefined {
  const tokenBytes = kvTokenBytes(layout);
  let length = 0;
  for (const { start, end, type, tensors } of blocks) {
    const fits = tensors.every((bytes) => bytes.length === layout.kvHeads * (end - start) * tokenBytes);
    if (start !== length || end < start)
      throw new RangeError(`Cannot import KV: a block begins at ${start}, not ${length}`);
    if (type !== layout.type || tensors.length !== layout.past.length || !fits)
      throw new RangeError('Cannot import KV: a block has another layout than this model');
    length = end;
  }
  if (length === 0) return undefined;
  const joined = layout.past.map((_, index) => {
    const bytes = new Uint8Array(layout.kvHeads * length * tokenBytes);
    for (const { start, end, tensors } of blocks) {
      const size = (end - start) * tokenBytes;
      for (let head = 0; head < layout.kvHeads; head += 1)
        bytes.set(tensors[index]!.subarray(head * size, (head + 1) * size), (head * length + start) * tokenBytes);
    }
    return cpuTensor(ort, layout, [1, length], bytes);
  });
  return new KvBatch(joined);
}
