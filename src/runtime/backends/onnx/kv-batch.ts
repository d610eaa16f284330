import type { Tensor } from 'onnxruntime-web';
import { BUFFER_USAGE } from '../gpu/gpu-flags.ts';
import { bytesOf, cpuTensor, disposeKv, kvTokenBytes, type KvLayout, type KvTensors } from './kv-tensors.ts';
import type { OrtModule } from './ort-runtime.ts';

/**
 * KV of one or more sequences, a row each, padded on the right to one length. Never changed once it is there: a step reads one and makes the
 * next. Shared by the sequences whose rows it holds; freed when the last of them lets go.
 */
export class KvBatch {
  readonly tensors: KvTensors;
  #users = 0;

  /** @param tensors one or more; owned by the batch from now on */
  constructor(tensors: KvTensors) {
    this.tensors = tensors;
  }

  get rows(): number {
    return this.tensors[0]!.dims[0]!;
  }

  /** Tokens for which each row has room. */
  get capacity(): number {
    return this.tensors[0]!.dims[2]!;
  }

  retain(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.dispose();
  }

  /** For a batch that nobody has retained. */
  dispose(): void {
    disposeKv(this.tensors);
  }
}

/** Where the KV of a sequence lies: the first so many tokens of a row. */
export interface KvRow {
  batch: KvBatch;
  row: number;
}

/** A row whose first `length` tokens are wanted; without `kv`: none. */
export interface KvSource {
  kv: KvRow | undefined;
  length: number;
}

/** Offset of token 0 of a head, and of the head of a row, in a tensor of such capacity; in bytes. */
export const headOffset = (layout: KvLayout, capacity: number, row: number, head: number): number =>
  (row * layout.kvHeads + head) * capacity * kvTokenBytes(layout);

/**
 * The order in which these sources are the rows of one batch that holds nothing else, or undefined: then they have to be put together.
 * @param slack tokens of padding beyond the longest that are let stand
 */
export function orderInBatch(sources: readonly KvSource[], slack: number): readonly number[] | undefined {
  const batch = sources[0]?.kv?.batch;
  if (batch?.rows !== sources.length) return undefined;
  const longest = Math.max(...sources.map(({ length }) => length));
  if (longest === 0 || batch.capacity - longest > slack) return undefined;
  const order = Array.from<number>({ length: sources.length });
  for (const [index, { kv }] of sources.entries()) {
    if (kv?.batch !== batch) return undefined;
    order[kv.row] = index;
  }
  return order;
}

/**
 * A new batch of these rows in this order, with no more room than the longest needs: copied on the GPU where a device is given (what lies
 * in CPU memory is uploaded). Undefined if no row has a token.
 */
export function gatherKv(
  ort: OrtModule,
  layout: KvLayout,
  sources: readonly KvSource[],
  device?: GPUDevice,
): KvBatch | undefined {
  const capacity = Math.max(...sources.map(({ length }) => length));
  if (capacity === 0) return undefined;
  if (!device)
    return new KvBatch(layout.past.map((_, index) => gatherOnCpu(ort, layout, { sources, capacity, index })));
  const encoder = device.createCommandEncoder({ label: 'tokenglass onnx kv gather' });
  const tensors = layout.past.map((_, index) =>
    gatherOnGpu(ort, layout, { sources, capacity, index }, { device, encoder }),
  );
  device.queue.submit([encoder.finish()]);
  return new KvBatch(tensors);
}

/** Tensor `index` of the layout. */
interface Gathering {
  sources: readonly KvSource[];
  capacity: number;
  index: number;
}

/** A piece of a tensor that is copied: offsets and size in bytes. */
interface Piece {
  tensor: Tensor;
  from: number;
  to: number;
  size: number;
}

/** The pieces of all rows and heads. */
function* pieces(layout: KvLayout, { sources, capacity, index }: Gathering): Generator<Piece> {
  for (const [row, { kv, length }] of sources.entries()) {
    if (!kv || length === 0) continue;
    const size = length * kvTokenBytes(layout);
    for (let head = 0; head < layout.kvHeads; head += 1) {
      const from = headOffset(layout, kv.batch.capacity, kv.row, head);
      yield { tensor: kv.batch.tensors[index]!, from, to: headOffset(layout, capacity, row, head), size };
    }
  }
}

function gatherOnCpu(ort: OrtModule, layout: KvLayout, gathering: Gathering): Tensor {
  const rows = gathering.sources.length;
  const bytes = new Uint8Array(headOffset(layout, gathering.capacity, rows, 0));
  for (const { tensor, from, to, size } of pieces(layout, gathering))
    bytes.set(bytesOf(tensor).subarray(from, from + size), to);
  return cpuTensor(ort, layout, [rows, gathering.capacity], bytes);
}

function gatherOnGpu(
  ort: OrtModule,
  layout: KvLayout,
  gathering: Gathering,
  { device, encoder }: { device: GPUDevice; encoder: GPUCommandEncoder },
): Tensor {
  const rows = gathering.sources.length;
  // [rows, kvHeads, capacity, headDim]; onnxruntime-web reads whole 16-byte units.
  const buffer = device.createBuffer({
    label: 'tokenglass onnx kv',
    size: Math.ceil(headOffset(layout, gathering.capacity, rows, 0) / 16) * 16,
    usage: BUFFER_USAGE.storage | BUFFER_USAGE.copySrc | BUFFER_USAGE.copyDst,
  });
  for (const { tensor, from, to, size } of pieces(layout, gathering)) {
    if (tensor.location === 'gpu-buffer') encoder.copyBufferToBuffer(tensor.gpuBuffer, from, buffer, to, size);
    else device.queue.writeBuffer(buffer, to, bytesOf(tensor), from, size);
  }
  return ort.Tensor.fromGpuBuffer(buffer, {
    dataType: layout.type,
    dims: [rows, layout.kvHeads, gathering.capacity, layout.headDim],
    dispose: () => buffer.destroy(),
  });
}
