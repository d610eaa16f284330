/** A metadata value with what GGUF must know of its type; strings, booleans and their arrays speak for themselves. */
export type GgufTestValue =
  string | boolean | { u32: number } | { f32: number } | readonly string[] | Int32Array | Float32Array;

/** A tensor in F32; dimensions with the fastest first, as GGUF has them. */
export interface GgufTestTensor {
  dims: readonly number[];
  data: Float32Array;
}

const ALIGNMENT = 32;
const TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const encoder = new TextEncoder();

/** Writes a GGUF file (version 3, little-endian) for tests. */
export function writeGguf(
  metadata: ReadonlyMap<string, GgufTestValue>,
  tensors: ReadonlyMap<string, GgufTestTensor> = new Map(),
): Blob {
  const parts: BlobPart[] = [];
  let length = 0;
  const put = (bytes: Uint8Array<ArrayBuffer>) => {
    parts.push(bytes);
    length += bytes.length;
  };
  const u32 = (value: number) => put(new Uint8Array(Uint32Array.of(value).buffer));
  const u64 = (value: number) => put(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  const string = (text: string) => {
    const bytes = encoder.encode(text);
    u64(bytes.length);
    put(bytes);
  };
  put(encoder.encode('GGUF'));
  u32(3);
  u64(tensors.size);
  u64(metadata.size);
  for (const [key, value] of metadata) {
    string(key);
    putValue(value, { put, u32, u64, string });
  }
  let offset = 0;
  for (const [name, { dims, data }] of tensors) {
    string(name);
    u32(dims.length);
    for (const dim of dims) u64(dim);
    u32(0); // F32
    u64(offset);
    offset += padded(data.byteLength);
  }
  const pad = () => put(new Uint8Array(padded(length) - length));
  pad();
  for (const { data } of tensors.values()) {
    put(new Uint8Array(data.slice().buffer));
    pad();
  }
  return new Blob(parts);
}

interface Output {
  put: (bytes: Uint8Array<ArrayBuffer>) => void;
  u32: (value: number) => void;
  u64: (value: number) => void;
  string: (text: string) => void;
}

function putValue(value: GgufTestValue, { put, u32, u64, string }: Output): void {
  if (typeof value === 'string') {
    u32(TYPE.string);
    string(value);
  } else if (typeof value === 'boolean') {
    u32(TYPE.bool);
    put(Uint8Array.of(value ? 1 : 0));
  } else if (value instanceof Int32Array || value instanceof Float32Array) {
    u32(TYPE.array);
    u32(value instanceof Int32Array ? TYPE.i32 : TYPE.f32);
    u64(value.length);
    put(new Uint8Array(value.slice().buffer));
  } else if ('u32' in value) {
    u32(TYPE.u32);
    u32(value.u32);
  } else if ('f32' in value) {
    u32(TYPE.f32);
    put(new Uint8Array(Float32Array.of(value.f32).buffer));
  } else {
    u32(TYPE.array);
    u32(TYPE.string);
    u64(value.length);
    for (const text of value) string(text);
  }
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}
