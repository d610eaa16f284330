import { TokenglassError } from '../../shared/errors.ts';
import { streamFrom } from './download/stream-from.ts';
import { splitSet } from './gguf-split.ts';
import { ByteReader } from './gguf/byte-reader.ts';
import type { GgufHeader, GgufTensorInfo } from './gguf/header.ts';
import { readGgufHeader } from './gguf/read-header.ts';
import { BLOCK_LAYOUTS } from './gguf/tensor-types.ts';
import type { ModelSource, OpenedFile, OpenOptions } from './source.ts';

/** All files of a set are open at once, and browsers open six connections to a host that speaks HTTP/1.1. */
const MAX_FILES = 6;

/**
 * Presents the files of a split set (`name-00001-of-00003.gguf`) as the one file that they were cut from, so that whatever reads a GGUF file
 * reads a set too: `open` of the first file gives the metadata of the first, the tensors of all, and then their data, file by file. Other
 * files are passed through.
 *
 * `open` also throws TokenglassError `model-invalid` if the files are no set, `model-unsupported` if they are more than six.
 */
export function joinSplitFiles(source: ModelSource): ModelSource {
  return {
    id: source.id,
    kind: source.kind,
    ...(source.revision !== undefined && { revision: source.revision }),
    async open(path, options = {}) {
      const paths = splitSet(path) ?? [path];
      return paths.length === 1 ? source.open(path, options) : openSet(source, paths, options);
    },
  };
}

/** One file of a set, read up to the end of its header. */
interface Part {
  path: string;
  header: GgufHeader;
  /** The header as it was read; kept of the first file only. */
  headerBytes: Uint8Array;
  reader: ByteReader;
}

async function openSet(source: ModelSource, paths: readonly string[], options: OpenOptions): Promise<OpenedFile> {
  if (paths.length > MAX_FILES) {
    const message = `Cannot load ${paths[0]!}: it is cut into ${paths.length} files, and at most ${MAX_FILES} can be read together; join them with llama-gguf-split --merge`;
    throw new TokenglassError('model-unsupported', message, { details: { paths } });
  }
  const { start = 0, end = Infinity, signal } = options;
  const parts: Part[] = [];
  const close = (): void => {
    for (const { reader } of parts) void reader.cancel().catch(() => undefined);
  };
  try {
    for (const path of paths) parts.push(await openPart(source, path, options));
    const joined = joinHeaders(parts);
    const pieces = cut(joinedPieces(parts, joined), start, end);
    const stream = streamFrom(pieces, signal ?? new AbortController().signal, close);
    return { stream, totalBytes: joined.totalBytes };
  } catch (error) {
    close();
    throw error;
  }
}

async function openPart(source: ModelSource, path: string, { signal, cache }: OpenOptions): Promise<Part> {
  const opened = await source.open(path, { ...(signal && { signal }), ...(cache && { cache }) });
  const chunks: Uint8Array[] = [];
  let isHeader = true;
  const pieces = opened.stream.getReader();
  async function* recorded(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const { done, value } = await pieces.read();
        if (done) return;
        if (isHeader) chunks.push(value);
        yield value;
      }
    } finally {
      void pieces.cancel().catch(() => undefined);
    }
  }
  const reader = new ByteReader(recorded());
  try {
    const { totalBytes } = opened;
    const header = await readGgufHeader(reader, totalBytes === undefined ? {} : { totalBytes });
    isHeader = false;
    const bytes = new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).slice(0, header.headerBytes).arrayBuffer());
    return { path, header, headerBytes: bytes, reader };
  } catch (error) {
    void reader.cancel().catch(() => undefined);
    throw error;
  }
}

interface JoinedHeader {
  bytes: Uint8Array;
  totalBytes: number;
}

/** Bytes of data of a part, up to where the next one may begin. */
const dataBytes = ({ header }: Part, alignment: number): number =>
  Math.ceil((header.endOffset - header.dataOffset) / alignment) * alignment;

/** The header of the first file, with the tensors of all: offsets count from the begin of the data. */
function joinHeaders(parts: readonly Part[]): JoinedHeader {
  const [first] = parts as readonly [Part];
  const { alignment } = first.header;
  const count = parts.reduce((sum, { header }) => sum + header.tensors.length, 0);
  const announced = first.header.metadata.get('split.tensors.count');
  if (announced !== undefined && Number(announced) !== count) {
    const message = `Cannot load ${first.path}: its set has ${count} tensors, not the ${Number(announced)} that it should have; take all files from one place`;
    throw new TokenglassError('model-invalid', message, { details: { paths: parts.map(({ path }) => path) } });
  }
  const infosBytes = first.header.tensors.reduce((sum, tensor) => sum + infoBytes(tensor), 0);
  const metadata = first.headerBytes.subarray(24, first.headerBytes.length - infosBytes);
  let base = 0;
  const infos = parts.flatMap((part) => {
    const offset = base - part.header.dataOffset;
    base += dataBytes(part, alignment);
    return part.header.tensors.map((tensor) => encodeInfo(tensor, tensor.offset + offset));
  });
  const headerBytes = 24 + metadata.length + infos.reduce((sum, info) => sum + info.length, 0);
  const bytes = new Uint8Array(Math.ceil(headerBytes / alignment) * alignment);
  bytes.set(first.headerBytes.subarray(0, 24));
  new DataView(bytes.buffer).setBigUint64(8, BigInt(count), true);
  let at = 24;
  for (const piece of [metadata, ...infos]) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { bytes, totalBytes: bytes.length + base };
}

const infoBytes = ({ name, shape }: GgufTensorInfo): number =>
  8 + new TextEncoder().encode(name).length + 4 + 8 * shape.length + 4 + 8;

/** Name, dimensions, type and offset, as the header has them. */
function encodeInfo(tensor: GgufTensorInfo, offset: number): Uint8Array {
  const name = new TextEncoder().encode(tensor.name);
  const bytes = new Uint8Array(infoBytes(tensor));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(name.length), true);
  bytes.set(name, 8);
  let at = 8 + name.length;
  view.setUint32(at, tensor.shape.length, true);
  at += 4;
  for (const size of tensor.shape) {
    view.setBigUint64(at, BigInt(size), true);
    at += 8;
  }
  view.setUint32(at, BLOCK_LAYOUTS[tensor.type].id, true);
  view.setBigUint64(at + 4, BigInt(offset), true);
  return bytes;
}

async function* joinedPieces(parts: readonly Part[], joined: JoinedHeader): AsyncGenerator<Uint8Array, void> {
  yield joined.bytes;
  const { alignment } = parts[0]!.header;
  for (const part of parts) {
    const { header, reader } = part;
    if (header.tensors.length > 0) await reader.skipTo(header.dataOffset);
    for (let left = header.endOffset - header.dataOffset; left > 0; ) {
      const piece = await reader.readSome(left);
      if (!piece) throw endedEarly(part.path);
      left -= piece.length;
      yield piece;
    }
    const padding = dataBytes(part, alignment) - (header.endOffset - header.dataOffset);
    if (padding > 0) yield new Uint8Array(padding);
    // To its end, since only then is the file verified and marked complete in a store.
    while ((await reader.readSome(2 ** 20)) !== undefined);
  }
}

async function* cut(pieces: AsyncIterable<Uint8Array>, start: number, end: number): AsyncGenerator<Uint8Array, void> {
  let at = 0;
  for await (const piece of pieces) {
    const part = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += piece.length;
    if (part.length > 0) yield part;
    if (at >= end) return;
  }
}

function endedEarly(path: string): TokenglassError {
  const message = `Cannot load ${path}: it ends before its last tensor; download it again`;
  return new TokenglassError('model-invalid', message, { details: { path } });
}
