/** Writes ONNX files for tests: just enough of protobuf for a graph of nodes and initializers. */

function varint(value: number | bigint): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

const utf8 = new TextEncoder();

function join(parts: readonly (Uint8Array | number[])[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const int = (field: number, value: number | bigint): number[] => [...varint(field * 8), ...varint(value)];

const bytes = (field: number, value: Uint8Array | string): Uint8Array => {
  const data = typeof value === 'string' ? utf8.encode(value) : value;
  return join([varint(field * 8 + 2), varint(data.length), data]);
};

const float = (field: number, value: number): Uint8Array =>
  join([varint(field * 8 + 5), new Uint8Array(new Float32Array([value]).buffer)]);

/** TensorProto.DataType */
export const DATA_TYPE = { float32: 1, uint8: 2, int32: 6, int64: 7, float16: 10 } as const;

export type OnnxArray = Float32Array | Uint8Array | BigInt64Array;

export function initializer(name: string, dims: readonly number[], data: OnnxArray, external?: string): Uint8Array {
  const type =
    data instanceof Float32Array ? DATA_TYPE.float32 : data instanceof Uint8Array ? DATA_TYPE.uint8 : DATA_TYPE.int64;
  const entry = (key: string, value: string): Uint8Array => bytes(13, join([bytes(1, key), bytes(2, value)]));
  const content =
    external === undefined
      ? [bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))]
      : [entry('location', external), entry('offset', '0'), entry('length', String(data.byteLength)), int(14, 1)];
  return join([...dims.map((dim) => int(1, dim)), int(2, type), bytes(8, name), ...content]);
}

export interface NodeOptions {
  domain?: string;
  ints?: Readonly<Record<string, number>>;
  floats?: Readonly<Record<string, number>>;
}

export function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  options: NodeOptions = {},
): Uint8Array {
  const attributes = [
    ...Object.entries(options.ints ?? {}).map(([name, value]) => join([bytes(1, name), int(3, value), int(20, 2)])),
    ...Object.entries(options.floats ?? {}).map(([name, value]) => join([bytes(1, name), float(2, value), int(20, 1)])),
  ];
  return join([
    ...inputs.map((name) => bytes(1, name)),
    ...outputs.map((name) => bytes(2, name)),
    bytes(3, outputs[0]!),
    bytes(4, op),
    ...attributes.map((attribute) => bytes(5, attribute)),
    ...(options.domain === undefined ? [] : [bytes(7, options.domain)]),
  ]);
}

/** A graph input or output; a dimension is a size or the name of one that varies. */
export function valueInfo(name: string, type: number, dims: readonly (number | string)[]): Uint8Array {
  const shape = dims.map((dim) => bytes(1, typeof dim === 'number' ? join([int(1, dim)]) : bytes(2, dim)));
  const tensorType = join([int(1, type), bytes(2, join(shape))]);
  return join([bytes(1, name), bytes(2, bytes(1, tensorType))]);
}

export interface GraphParts {
  nodes: readonly Uint8Array[];
  initializers: readonly Uint8Array[];
  inputs: readonly Uint8Array[];
  outputs: readonly Uint8Array[];
}

export function onnxModel({ nodes, initializers, inputs, outputs }: GraphParts): Uint8Array<ArrayBuffer> {
  const graph = join([
    ...nodes.map((part) => bytes(1, part)),
    bytes(2, 'test'),
    ...initializers.map((part) => bytes(5, part)),
    ...inputs.map((part) => bytes(11, part)),
    ...outputs.map((part) => bytes(12, part)),
  ]);
  const opset = (domain: string, version: number): Uint8Array => bytes(8, join([bytes(1, domain), int(2, version)]));
  return join([int(1, 8), bytes(7, graph), opset('', 18), opset('com.microsoft', 1)]);
}
