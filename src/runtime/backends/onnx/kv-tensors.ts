import type { Tensor } from 'onnxruntime-web';
import type { OrtModule } from './ort-runtime.ts';

/** Element types that KV has in ONNX models. */
export type KvType = 'float32' | 'float16';

/** How the session wants KV: per layer a key and a value of shape [rows, kvHeads, tokens, headDim], in this order. */
export interface KvLayout {
  /** Names of the inputs and of the outputs that follow them: key and value of layer 0, of layer 1, ... */
  readonly past: readonly string[];
  readonly present: readonly string[];
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly type: KvType;
}

/** Tensors of KV, one per name of the layout, of shape [rows, kvHeads, tokens, headDim]. Empty: no row has any. */
export type KvTensors = readonly Tensor[];

/** Bytes of one token in one head of one tensor. */
export const kvTokenBytes = (layout: KvLayout): number => layout.headDim * (layout.type === 'float32' ? 4 : 2);

/** Bytes of KV for one token, all layers. */
export const kvBytesPerToken = (layout: KvLayout): number => layout.past.length * layout.kvHeads * kvTokenBytes(layout);

export function disposeKv(tensors: KvTensors): void {
  for (const tensor of tensors) tensor.dispose();
}

/** A CPU tensor of [rows, kvHeads, tokens, headDim] over these bytes (not copied). */
export function cpuTensor(
  ort: OrtModule,
  layout: KvLayout,
  [rows, tokens]: readonly [rows: number, tokens: number],
  bytes: Uint8Array<ArrayBuffer>,
): Tensor {
  const { buffer, byteOffset } = bytes;
  const dims = [rows, layout.kvHeads, tokens, layout.headDim];
  const elements = rows * layout.kvHeads * tokens * layout.headDim;
  if (layout.type === 'float32') return new ort.Tensor('float32', new Float32Array(buffer, byteOffset, elements), dims);
  // Where the engine has Float16Array, onnxruntime-web wants that and not the bits.
  const Float16 = (globalThis as { Float16Array?: Uint16ArrayConstructor }).Float16Array ?? Uint16Array;
  return new ort.Tensor('float16', new Float16(buffer, byteOffset, elements), dims);
}

/** What is fed where no row has KV yet. */
export const emptyTensor = (ort: OrtModule, layout: KvLayout, rows: number): Tensor =>
  cpuTensor(ort, layout, [rows, 0], new Uint8Array(new ArrayBuffer(0)));

/** Bytes of a tensor that lies in CPU memory; a view. */
export function bytesOf(tensor: Tensor): Uint8Array {
  const data = tensor.data as Float32Array;
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
