import type { GgmlType } from './tensor-types.ts';

/** A value of GGUF metadata. 64-bit integers beyond 2^53 are bigint; arrays of numbers are typed arrays. */
export type GgufValue = number | bigint | boolean | string | GgufArray;

export type GgufNumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

export type GgufArray = readonly string[] | readonly boolean[] | GgufNumberArray;

export type GgufMetadata = ReadonlyMap<string, GgufValue>;

export interface GgufTensorInfo {
  name: string;
  /**
   * Sizes in ggml order: `shape[0]` is the length of a contiguous row, `shape[1]` the number of rows (a matrix that maps n
   * inputs to m outputs is `[n, m]`). One to four sizes, each at least 1.
   */
  shape: readonly number[];
  type: GgmlType;
  /** Product of `shape`. */
  elements: number;
  /** First byte, from the start of the file. */
  offset: number;
  byteLength: number;
}

/** Everything in a GGUF file but the weights. */
export interface GgufHeader {
  version: 2 | 3;
  metadata: GgufMetadata;
  /** In the order of the header, which need not be the order of the data: sort by `offset` to stream. */
  tensors: readonly GgufTensorInfo[];
  /** Bytes of header read; the source stands there. */
  headerBytes: number;
  /** Where tensor data begins: `headerBytes` rounded up to `alignment`. */
  dataOffset: number;
  /** End of the last tensor: bytes that the file needs to have. */
  endOffset: number;
  alignment: number;
}
