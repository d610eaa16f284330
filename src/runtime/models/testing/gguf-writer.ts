import { BLOCK_LAYOUTS, ggmlByteLength, type GgmlType } from '../gguf/tensor-types.ts';

/** A metadata value with the type it is written as. */
export type TypedValue =
  | { type: 'uint8' | 'uint32' | 'int32' | 'float32' | 'uint64'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'strings'; value: readonly string[] }
  | { type: 'bools'; value: readonly boolean[] }
  | { type: 'uint32s'; value: readonly number[] }
  | { type: 'int32s'; value: Int32Array }
  | { type: 'float32s'; value: Float32Array };

export interface TensorSpec {
  name: string;
  /** In ggml order: row length first. */
  shape: readonly number[];
  type: GgmlType;
  /** The content in pieces, made when asked for. */
  chunks: () => Iterable<Uint8Array>;
}

export interface GgufSpec {
  metadata: readonly (readonly [key: string, value: TypedValue])[];
  tensors: readonly TensorSpec[];
  /** @default 3 */
  version?: number;
}

export const u32 = (value: number): TypedValue => ({ type: 'uint32', value });
export const f32 = (value: number): TypedValue => ({ type: 'float32', value });
export const str = (value: string): TypedValue => ({ type: 'string', value });
export const bool = (value: boolean): TypedValue => ({ type: 'bool', value });

const ALIGNMENT = 32;
const VALUE_TYPE = { uint8: 0, uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9, uint64: 10 } as const;

/** The file in pieces, front to back; no more than a piece is alive at a time. */
export function* ggufChunks(spec: GgufSpec): Generator<Uint8Array> {
  const header = ggufHeader(spec);
  yield header;
  yield padding(header.length);
  for (const tensor of spec.tensors) {
    let length = 0;
    for (const chunk of tensor.chunks()) {
      length += chunk.length;
      yield chunk;
    }
    const expected = tensorBytes(tensor);
    if (length !== expected) throw new RangeError(`Cannot write ${tensor.name}: ${length} bytes instead of ${expected}`);
    yield padding(length);
  }
}

/** The header alone, without the padding after it. */
export function ggufHeader({ metadata, tensors, version = 3 }: GgufSpec): Uint8Array {
  const out = new ByteWriter();
  out.uint32(0x46554747);
  out.uint32(version);
  out.uint64(tensors.length);
  out.uint64(metadata.length);
  for (const [key, value] of metadata) {
    out.string(key);
    writeValue(out, value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    out.string(tensor.name);
    out.uint32(tensor.shape.length);
    for (const size of tensor.shape) out.uint64(size);
    out.uint32(BLOCK_LAYOUTS[tensor.type].id);
    out.uint64(offset);
    offset += Math.ceil(tensorBytes(tensor) / ALIGNMENT) * ALIGNMENT;
  }
  return out.finish();
}

/** All pieces as one array: for files that fit in memory. */
export function concatChunks(chunks: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  const parts = [...chunks];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function tensorBytes({ type, shape }: TensorSpec): number {
  return ggmlByteLength(type, shape.reduce((product, size) => product * size, 1));
}

function padding(length: number): Uint8Array {
  return new Uint8Array((ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT);
}

function writeValue(out: ByteWriter, value: TypedValue): void {
  const array = (type: number, length: number) => {
    out.uint32(VALUE_TYPE.array);
    out.uint32(type);
    out.uint64(length);
  };
  switch (value.type) {
    case 'strings':
      array(VALUE_TYPE.string, value.value.length);
      for (const text of value.value) out.string(text);
      return;
    case 'bools':
      array(VALUE_TYPE.bool, value.value.length);
      out.bytes(Uint8Array.from(value.value, Number));
      return;
    case 'uint32s':
      array(VALUE_TYPE.uint32, value.value.length);
      for (const number of value.value) out.uint32(number);
      return;
    case 'int32s':
    case 'float32s': {
      const { buffer, byteOffset, byteLength, length } = value.value;
      array(value.type === 'int32s' ? VALUE_TYPE.int32 : VALUE_TYPE.float32, length);
      out.bytes(new Uint8Array(buffer, byteOffset, byteLength));
      return;
    }
    default:
      out.uint32(VALUE_TYPE[value.type]);
      writeScalar(out, value);
  }
}

function writeScalar(out: ByteWriter, value: TypedValue): void {
  switch (value.type) {
    case 'string':
      out.string(value.value);
      return;
    case 'bool':
      out.bytes(Uint8Array.of(Number(value.value)));
      return;
    case 'uint8':
      out.bytes(Uint8Array.of(value.value));
      return;
    case 'uint64':
      out.uint64(value.value);
      return;
    case 'float32':
      out.bytes(new Uint8Array(Float32Array.of(value.value).buffer));
      return;
    default:
      out.uint32(Number(value.value) >>> 0);
  }
}

class ByteWriter {
  #bytes = new Uint8Array(65_536);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  uint64(value: number): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#length, BigInt(value), true);
    this.#length += 8;
  }

  string(text: string): void {
    const bytes = utf8.encode(text);
    this.uint64(bytes.length);
    this.bytes(bytes);
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

const utf8 = new TextEncoder();
