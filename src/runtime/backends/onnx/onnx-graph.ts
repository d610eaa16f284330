import { TokenglassError } from '../../../shared/errors.ts';
import { protoFields, protoNumbers } from './protobuf.ts';

/** What we read of an ONNX file beside what the session tells: how large the model is, and which other files it needs. */
export interface OnnxGraphSummary {
  /** Weights of the model, each counted once however it is quantised; scales, zero points and rotary tables are not counted. */
  parameters: number;
  /** Those of them in an embedding table that no other operator uses; a tied model has them a second time in its output matrix. */
  embeddingParameters: number;
  /** Bytes of all initializers, scales and tables included. */
  weightBytes: number;
  /** Paths of external data, relative to the model file, as the file names them. */
  externalFiles: readonly string[];
}

interface Initializer {
  name: string;
  /** TensorProto.DataType. */
  dataType: number;
  elements: number;
  bytes: number;
  externalFile?: string;
}

interface Node {
  op: string;
  inputs: readonly string[];
  ints: ReadonlyMap<string, number>;
}

/** Bits of an element by TensorProto.DataType (onnx.proto); a missing one is a type that weights do not have. */
const ELEMENT_BITS: Readonly<Record<number, number>> = {
  1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4,
}; // prettier-ignore

/** Types that hold weights as they are: float, float16, double, bfloat16, and the 8- and 4-bit ones. */
const WEIGHT_TYPES = new Set([1, 2, 3, 10, 11, 16, 17, 18, 19, 20, 21, 22]);

/** Inputs of an operator, by index, that are no weights: scales, zero points, group indices, rotary tables. */
const HELPER_INPUTS: Readonly<Record<string, readonly number[]>> = {
  MatMulNBits: [2, 3, 4],
  GatherBlockQuantized: [2, 3],
  DequantizeLinear: [1, 2],
  GroupQueryAttention: [7, 8],
  RotaryEmbedding: [2, 3],
};

/** @throws TokenglassError `model-invalid` if the bytes are no ONNX model */
export function summarizeOnnxGraph(model: Uint8Array): OnnxGraphSummary {
  let graph: Uint8Array | undefined;
  try {
    for (const { field, bytes } of protoFields(model)) if (field === 7 && bytes) graph = bytes;
    if (graph) return summarize(graph);
  } catch (cause) {
    const message = 'Cannot load the ONNX model: the file is broken or is not ONNX; download it again';
    throw new TokenglassError('model-invalid', message, { cause });
  }
  const message = 'Cannot load the ONNX model: the file has no graph; check that the URL names a model';
  throw new TokenglassError('model-invalid', message);
}

function summarize(graph: Uint8Array): OnnxGraphSummary {
  const initializers = new Map<string, Initializer>();
  const nodes: Node[] = [];
  for (const { field, bytes } of protoFields(graph)) {
    if (field === 1 && bytes) nodes.push(readNode(bytes));
    if (field === 5 && bytes) {
      const initializer = readInitializer(bytes);
      initializers.set(initializer.name, initializer);
    }
  }
  const sizes = parameterCounts(initializers, nodes);
  const all = [...initializers.values()];
  const external = all.flatMap(({ externalFile }) => (externalFile === undefined ? [] : [externalFile]));
  return {
    parameters: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    embeddingParameters: sizes.get(embeddingTable(nodes) ?? '') ?? 0,
    weightBytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    externalFiles: [...new Set(external)],
  };
}

/** Parameters by name of initializer; those that are no weights are absent. */
function parameterCounts(initializers: ReadonlyMap<string, Initializer>, nodes: readonly Node[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, dataType, elements } of initializers.values())
    if (WEIGHT_TYPES.has(dataType) && elements > 1) counts.set(name, elements);
  for (const { op, inputs, ints } of nodes) {
    for (const index of HELPER_INPUTS[op] ?? []) counts.delete(inputs[index] ?? '');
    const bits = ints.get('bits') ?? 4;
    // uint8 that holds several weights a byte
    const [packed, isWeight] = op === 'MatMulNBits' ? [inputs[1], true] : [inputs[0], op === 'GatherBlockQuantized'];
    const weight = isWeight ? initializers.get(packed ?? '') : undefined;
    if (weight?.dataType === 2) counts.set(weight.name, (weight.elements * 8) / bits);
  }
  return counts;
}

/** Name of the initializer that token ids are looked up in, if it serves nothing else. */
function embeddingTable(nodes: readonly Node[]): string | undefined {
  const lookup = nodes.find(({ op, inputs }) => /^Gather/.test(op) && inputs[1] === 'input_ids');
  const users = nodes.filter(({ inputs }) => lookup && inputs.includes(lookup.inputs[0]!));
  return users.length === 1 ? lookup?.inputs[0] : undefined;
}

const utf8 = new TextDecoder();

function readNode(message: Uint8Array): Node {
  const inputs: string[] = [];
  const ints = new Map<string, number>();
  let op = '';
  for (const { field, bytes } of protoFields(message)) {
    if (!bytes) continue;
    if (field === 1) inputs.push(utf8.decode(bytes));
    if (field === 4) op = utf8.decode(bytes);
    if (field === 5) {
      let name = '';
      let value: number | undefined;
      for (const part of protoFields(bytes)) {
        if (part.field === 1 && part.bytes) name = utf8.decode(part.bytes);
        if (part.field === 3 && part.value !== undefined) value = Number(part.value);
      }
      if (value !== undefined) ints.set(name, value);
    }
  }
  return { op, inputs, ints };
}

function readInitializer(message: Uint8Array): Initializer {
  let name = '';
  let dataType = 0;
  let elements = 1;
  let externalFile: string | undefined;
  for (const part of protoFields(message)) {
    if (part.field === 1) for (const size of protoNumbers(part)) elements *= size;
    if (part.field === 2) dataType = Number(part.value ?? 0n);
    if (part.field === 8 && part.bytes) name = utf8.decode(part.bytes);
    if (part.field === 13 && part.bytes) externalFile = externalLocation(part.bytes) ?? externalFile;
  }
  const bytes = Math.ceil((elements * (ELEMENT_BITS[dataType] ?? 0)) / 8);
  return { name, dataType, elements, bytes, ...(externalFile !== undefined && { externalFile }) };
}

function externalLocation(entry: Uint8Array): string | undefined {
  let key = '';
  let value = '';
  for (const { field, bytes } of protoFields(entry)) {
    if (field === 1 && bytes) key = utf8.decode(bytes);
    if (field === 2 && bytes) value = utf8.decode(bytes);
  }
  return key === 'location' ? value : undefined;
}
