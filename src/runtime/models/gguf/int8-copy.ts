import { TokenglassError } from '../../../shared/errors.ts';
import type { GgufHeader, GgufTensorInfo } from './header.ts';
import { readGgufHeader } from './read-header.ts';
import { BLOCK_LAYOUTS, ggmlByteLength } from './tensor-types.ts';

const FILE_TYPE = new TextEncoder().encode('general.file_type');
/** `LLAMA_FTYPE_MOSTLY_Q8_0` of llama.cpp. */
const MOSTLY_Q8_0 = 7;
const UINT32 = 4;
const BLOCK_WEIGHTS = 32;

/**
 * The same model with its Q4_0 matrices written as Q8_0: weights and answers stay the same, as 4-bit values with their scale fit 8 bits, but a step
 * reads nearly twice the bytes. What then differs in speed is what bytes cost.
 *
 * @param file a whole GGUF file
 * @throws TokenglassError `model-invalid`, `model-unsupported` as `readGgufHeader` does; `model-unsupported` if no matrix is Q4_0
 */
export async function int8Copy(file: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const header = await readGgufHeader(file, { totalBytes: file.length });
  if (!header.tensors.some(({ type }) => type === 'Q4_0')) {
    throw new TokenglassError(
      'model-unsupported',
      'Cannot copy the model to INT8: none of its matrices is Q4_0; choose a Q4_0 file',
    );
  }
  const aligned = (bytes: number): number => Math.ceil(bytes / header.alignment) * header.alignment;
  const copies: GgufTensorInfo[] = [];
  let offset = header.dataOffset;
  for (const tensor of header.tensors) {
    const type = tensor.type === 'Q4_0' ? 'Q8_0' : tensor.type;
    const byteLength = ggmlByteLength(type, tensor.elements);
    copies.push({ ...tensor, type, offset, byteLength });
    offset += aligned(byteLength);
  }
  const out = new Uint8Array(offset);
  out.set(file.subarray(0, header.headerBytes));
  setFileType(out, header);
  writeTensorInfos(out, header, copies);
  for (const [index, from] of header.tensors.entries()) {
    const source = file.subarray(from.offset, from.offset + from.byteLength);
    const { offset: at, byteLength } = copies[index]!;
    if (from.type === 'Q4_0') widen(source, out.subarray(at, at + byteLength));
    else out.set(source, at);
  }
  return out;
}

/** In place: infos are as long as they were, and begin where the metadata ends. */
function writeTensorInfos(out: Uint8Array<ArrayBuffer>, header: GgufHeader, tensors: readonly GgufTensorInfo[]): void {
  const encoder = new TextEncoder();
  const lengths = tensors.map(({ name, shape }) => 8 + encoder.encode(name).length + 4 + 8 * shape.length + 4 + 8);
  const view = new DataView(out.buffer);
  let end = header.headerBytes - lengths.reduce((sum, length) => sum + length, 0);
  for (const [index, { type, offset }] of tensors.entries()) {
    end += lengths[index]!;
    view.setUint32(end - 12, BLOCK_LAYOUTS[type].id, true);
    view.setBigUint64(end - 8, BigInt(offset - header.dataOffset), true);
  }
}

/** Where the file says its type; readers name the precision by it. */
function setFileType(out: Uint8Array<ArrayBuffer>, { metadata, headerBytes }: GgufHeader): void {
  if (typeof metadata.get('general.file_type') !== 'number') return;
  const view = new DataView(out.buffer);
  for (let at = 0; at + FILE_TYPE.length + 8 <= headerBytes; at++) {
    const afterKey = at + FILE_TYPE.length;
    if (view.getUint32(afterKey, true) !== UINT32 || !FILE_TYPE.every((byte, i) => out[at + i] === byte)) continue;
    view.setUint32(afterKey + 4, MOSTLY_Q8_0, true);
    return;
  }
}

/** Q4_0 blocks (f16 scale, 16 bytes: low halves are weights 0 to 15, high halves 16 to 31, each plus 8) as Q8_0 (f16 scale, 32 int8). */
function widen(from: Uint8Array, to: Uint8Array): void {
  const half = BLOCK_WEIGHTS / 2;
  const [fromBytes, toBytes] = [2 + half, 2 + BLOCK_WEIGHTS];
  for (let block = 0; block * fromBytes < from.length; block++) {
    const [source, target] = [block * fromBytes, block * toBytes];
    to[target] = from[source]!;
    to[target + 1] = from[source + 1]!;
    for (let i = 0; i < half; i++) {
      const pair = from[source + 2 + i]!;
      to[target + 2 + i] = (pair & 15) - 8;
      to[target + 2 + half + i] = (pair >> 4) - 8;
    }
  }
}
