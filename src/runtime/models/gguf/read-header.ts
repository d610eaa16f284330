import { ByteReader, type ByteSource } from './byte-reader.ts';
import type { GgufHeader, GgufMetadata, GgufTensorInfo, GgufValue } from './header.ts';
import { invalid, need, unsupported, type HeaderCursor } from './header-cursor.ts';
import * as limits from './limits.ts';
import { readKey, readTensorName, readValue } from './read-value.ts';
import { BLOCK_LAYOUTS, ggmlByteLength, ggmlTypeById, ggmlTypeLabel } from './tensor-types.ts';

/** 'GGUF' as a little-endian number. */
const MAGIC = 0x46554747;
const DEFAULT_ALIGNMENT = 32;

export interface ReadGgufHeaderOptions {
  /** Bytes of the whole file, if known: a file too short for its tensors is then refused here, before its body is downloaded. */
  totalBytes?: number;
}

/**
 * Reads the header of a GGUF file (version 2 or 3, little endian) from its first byte on, and no more of the source than the chunk that
 * the header ends in. Given a {@link ByteReader}, its position is then `headerBytes`, and the body can be read on from it.
 *
 * Strict: what llama.cpp would refuse is refused, and time and memory are bounded whatever the header says (`limits.ts`).
 *
 * @throws TokenglassError `model-invalid` (broken or truncated; says where), `model-unsupported` (version 1 or above 3, big endian, a
 *   tensor type that is not read, named with its tensor)
 */
export async function readGgufHeader(
  source: ByteReader | ByteSource,
  options: ReadGgufHeaderOptions = {},
): Promise<GgufHeader> {
  const reader = source instanceof ByteReader ? source : new ByteReader(source);
  const cursor: HeaderCursor = { reader, start: reader.position, elementsLeft: limits.MAX_ARRAY_ELEMENTS };
  await need(cursor, 4, 'its magic number');
  if (reader.takeUint32() !== MAGIC) throw invalid('it does not begin with "GGUF"; choose a .gguf file');
  await need(cursor, 4, 'its version');
  const version = checkVersion(reader.takeUint32());
  await need(cursor, 16, 'its counts');
  const tensorCount = reader.takeUint64();
  const metadataCount = reader.takeUint64();
  checkCount('tensors', tensorCount, limits.MAX_TENSOR_COUNT);
  checkCount('metadata pairs', metadataCount, limits.MAX_METADATA_COUNT);

  const metadata = await readMetadata(cursor, metadataCount);
  const alignment = readAlignment(metadata);
  const raw = await readTensorInfos(cursor, tensorCount);
  const headerBytes = reader.position - cursor.start;
  const dataOffset = Math.ceil(headerBytes / alignment) * alignment;
  const tensors = raw.map((tensor) => place(tensor, dataOffset, alignment));
  const endOffset = checkPlacement(tensors, dataOffset, options.totalBytes);
  return { version, metadata, tensors, headerBytes, dataOffset, endOffset, alignment };
}

function checkVersion(version: number): 2 | 3 {
  if (version === 2 || version === 3) return version;
  if (version === 1) throw unsupported('it is GGUF version 1; convert the model again with a current llama.cpp');
  if (version !== 0 && (version & 0xffff) === 0) {
    throw unsupported('it is a big-endian GGUF file; use the little-endian one');
  }
  throw unsupported(`it says GGUF version ${version}; versions 2 and 3 are read`);
}

function checkCount(what: string, count: number, most: number): void {
  if (count > most) throw invalid(`it announces ${count} ${what}, more than the ${most} that any real model has`);
}

async function readMetadata(cursor: HeaderCursor, count: number): Promise<GgufMetadata> {
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < count; index++) {
    const key = await readKey(cursor);
    if (metadata.has(key)) throw invalid(`the metadata key "${key}" is there twice`);
    metadata.set(key, await readValue(cursor, key));
  }
  return metadata;
}

function readAlignment(metadata: GgufMetadata): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo = typeof alignment === 'number' && Number.isInteger(Math.log2(alignment));
  if (!isPowerOfTwo || alignment < limits.MIN_ALIGNMENT || alignment > limits.MAX_ALIGNMENT) {
    throw invalid(`its general.alignment is no power of two from ${limits.MIN_ALIGNMENT} to ${limits.MAX_ALIGNMENT}`);
  }
  return alignment;
}

/** `offset` counts from `dataOffset`, which is known only when all infos are read. */
async function readTensorInfos(cursor: HeaderCursor, count: number): Promise<GgufTensorInfo[]> {
  const tensors: GgufTensorInfo[] = [];
  const names = new Set<string>();
  for (let index = 0; index < count; index++) {
    const name = await readTensorName(cursor);
    if (names.has(name)) throw invalid(`the tensor "${name}" is there twice`);
    names.add(name);
    tensors.push(await readTensorInfo(cursor, name));
  }
  return tensors;
}

async function readTensorInfo(cursor: HeaderCursor, name: string): Promise<GgufTensorInfo> {
  const { reader } = cursor;
  await need(cursor, 4, `the shape of tensor "${name}"`);
  const dims = reader.takeUint32();
  if (dims < 1 || dims > limits.MAX_TENSOR_DIMS) {
    throw invalid(`tensor "${name}" has ${dims} dimensions; 1 to ${limits.MAX_TENSOR_DIMS} are possible`);
  }
  await need(cursor, dims * 8 + 12, `the shape of tensor "${name}"`);
  const shape = Array.from({ length: dims }, () => reader.takeUint64());
  const typeId = reader.takeUint32();
  const offset = reader.takeUint64();
  const type = ggmlTypeById(typeId);
  if (type === undefined) {
    throw unsupported(
      `tensor "${name}" has type ${ggmlTypeLabel(typeId)}; use a file in one of ${Object.keys(BLOCK_LAYOUTS).join(', ')}`,
      { tensor: name, type: ggmlTypeLabel(typeId) },
    );
  }
  const elements = shape.reduce((product, size) => product * size, 1);
  // Up to 8 bytes an element, so that the byte length is exact too.
  if (shape.some((size) => size < 1) || elements > Number.MAX_SAFE_INTEGER / 8) {
    throw invalid(`tensor "${name}" has the impossible shape [${shape.join(', ')}]`);
  }
  const { blockSize } = BLOCK_LAYOUTS[type];
  if (shape[0]! % blockSize !== 0) {
    throw invalid(`tensor "${name}" has rows of ${shape[0]!}, which are no whole blocks of ${type} (${blockSize})`);
  }
  return { name, shape, type, elements, offset, byteLength: ggmlByteLength(type, elements) };
}

function place(tensor: GgufTensorInfo, dataOffset: number, alignment: number): GgufTensorInfo {
  const offset = dataOffset + tensor.offset;
  if (tensor.offset % alignment !== 0 || offset + tensor.byteLength > Number.MAX_SAFE_INTEGER) {
    throw invalid(`tensor "${tensor.name}" begins at ${tensor.offset}, which is not aligned to ${alignment} or is too large`);
  }
  return { ...tensor, offset };
}

function checkPlacement(tensors: readonly GgufTensorInfo[], dataOffset: number, totalBytes?: number): number {
  let end = dataOffset;
  let last = '';
  for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset)) {
    if (tensor.offset < end) throw invalid(`tensors "${last}" and "${tensor.name}" overlap`);
    end = tensor.offset + tensor.byteLength;
    last = tensor.name;
  }
  if (totalBytes !== undefined && tensors.length > 0 && end > totalBytes) {
    throw invalid(`tensor "${last}" ends at byte ${end}, but the file has ${totalBytes}; download it again`, {
      neededBytes: end,
      totalBytes,
    });
  }
  return end;
}
