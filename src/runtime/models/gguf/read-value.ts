import type { GgufArray, GgufNumberArray, GgufValue } from './header.ts';
import { invalid, need, unsupported, type HeaderCursor } from './header-cursor.ts';
import { MAX_ARRAY_ELEMENTS, MAX_KEY_BYTES, MAX_STRING_BYTES, MAX_TENSOR_NAME_BYTES } from './limits.ts';

/** Value types of GGUF by number, with their bytes; what has no fixed size is handled apart. */
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;
const UINT64 = 10;
const INT64 = 11;
const NUMBER_TYPES: ReadonlyMap<number, NumberType> = new Map<number, NumberType>([
  [0, { bytes: 1, make: (buffer) => new Uint8Array(buffer), get: (view) => view.getUint8(0) }],
  [1, { bytes: 1, make: (buffer) => new Int8Array(buffer), get: (view) => view.getInt8(0) }],
  [2, { bytes: 2, make: (buffer) => new Uint16Array(buffer), get: (view) => view.getUint16(0, true) }],
  [3, { bytes: 2, make: (buffer) => new Int16Array(buffer), get: (view) => view.getInt16(0, true) }],
  [4, { bytes: 4, make: (buffer) => new Uint32Array(buffer), get: (view) => view.getUint32(0, true) }],
  [5, { bytes: 4, make: (buffer) => new Int32Array(buffer), get: (view) => view.getInt32(0, true) }],
  [6, { bytes: 4, make: (buffer) => new Float32Array(buffer), get: (view) => view.getFloat32(0, true) }],
  [UINT64, { bytes: 8, make: (buffer) => new BigUint64Array(buffer), get: (view) => exact(view.getBigUint64(0, true)) }],
  [INT64, { bytes: 8, make: (buffer) => new BigInt64Array(buffer), get: (view) => exact(view.getBigInt64(0, true)) }],
  [12, { bytes: 8, make: (buffer) => new Float64Array(buffer), get: (view) => view.getFloat64(0, true) }],
]);

interface NumberType {
  bytes: number;
  /** An array over bytes in file order, which is the order of every machine that runs a browser. */
  make: (buffer: ArrayBuffer) => GgufNumberArray;
  get: (view: DataView) => number | bigint;
}

/** Bytes asked for at a time, so that memory grows with what has arrived and not with what was announced. */
const PIECE_BYTES = 2 ** 20;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenientUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Reads the key of a metadata pair. */
export async function readKey(cursor: HeaderCursor): Promise<string> {
  const bytes = await readStringBytes(cursor, MAX_KEY_BYTES, 'a metadata key');
  return decodeName(bytes, 'a metadata key');
}

/** Reads the name of a tensor. */
export async function readTensorName(cursor: HeaderCursor): Promise<string> {
  const bytes = await readStringBytes(cursor, MAX_TENSOR_NAME_BYTES, 'the name of a tensor');
  return decodeName(bytes, 'the name of a tensor');
}

/** Reads the type and the value of a metadata pair. */
export async function readValue(cursor: HeaderCursor, key: string): Promise<GgufValue> {
  const what = `the value of "${key}"`;
  await need(cursor, 4, what);
  const type = cursor.reader.takeUint32();
  if (type === ARRAY) return readArray(cursor, key);
  if (type === STRING) return decodeText(await readStringBytes(cursor, MAX_STRING_BYTES, what));
  if (type === BOOL) {
    await need(cursor, 1, what);
    return toBoolean(cursor.reader.take(1)[0]!, key);
  }
  const { bytes, get } = numberType(type, key);
  await need(cursor, bytes, what);
  const taken = cursor.reader.take(bytes);
  return get(new DataView(taken.buffer, taken.byteOffset, bytes));
}

async function readArray(cursor: HeaderCursor, key: string): Promise<GgufArray> {
  await need(cursor, 12, `the array "${key}"`);
  const type = cursor.reader.takeUint32();
  const length = cursor.reader.takeUint64();
  if (length > cursor.elementsLeft) {
    throw invalid(`the array "${key}" announces ${length} elements, more than the ${MAX_ARRAY_ELEMENTS} that are read in all`);
  }
  cursor.elementsLeft -= length;
  // No known writer nests arrays, and llama.cpp reads none.
  if (type === ARRAY) throw unsupported(`the metadata "${key}" is an array of arrays`);
  if (type === STRING) return readStrings(cursor, length, key);
  if (type === BOOL) {
    const bytes = await readBytes(cursor, length, `the array "${key}"`);
    return Array.from(bytes, (byte) => toBoolean(byte, key));
  }
  const { bytes, make } = numberType(type, key);
  const raw = await readBytes(cursor, length * bytes, `the array "${key}"`);
  return make(raw.buffer);
}

/** A tokenizer has up to half a million strings: wait only at the end of a chunk, never once a string. */
async function readStrings(cursor: HeaderCursor, length: number, key: string): Promise<string[]> {
  const what = `the array "${key}"`;
  const { reader } = cursor;
  const strings: string[] = [];
  for (let index = 0; index < length; index++) {
    if (reader.available < 8) await need(cursor, 8, what);
    const bytes = reader.takeUint64();
    if (bytes > MAX_STRING_BYTES) throw tooLong(what, bytes, MAX_STRING_BYTES);
    if (reader.available < bytes) await need(cursor, bytes, what);
    strings.push(decodeText(reader.take(bytes)));
  }
  // Chunks in memory arrive without a wait: the limit for the whole header is checked here once more.
  await need(cursor, 0, what);
  return strings;
}

/** A copy of the next bytes that begins at offset 0 of its buffer, as typed arrays need. */
async function readBytes(cursor: HeaderCursor, length: number, what: string): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(Math.min(length, PIECE_BYTES));
  for (let at = 0; at < length; ) {
    const piece = Math.min(length - at, PIECE_BYTES);
    await need(cursor, piece, what);
    if (at + piece > bytes.length) {
      const grown = new Uint8Array(Math.min(length, bytes.length * 2));
      grown.set(bytes);
      bytes = grown;
    }
    bytes.set(cursor.reader.take(piece), at);
    at += piece;
  }
  return bytes;
}

async function readStringBytes(cursor: HeaderCursor, most: number, what: string): Promise<Uint8Array> {
  await need(cursor, 8, what);
  const length = cursor.reader.takeUint64();
  if (length > most) throw tooLong(what, length, most);
  await need(cursor, length, what);
  return cursor.reader.take(length);
}

function tooLong(what: string, length: number, most: number): Error {
  return invalid(`${what} announces a string of ${length} bytes, more than the ${most} that are read`);
}

function numberType(type: number, key: string): NumberType {
  const found = NUMBER_TYPES.get(type);
  if (found === undefined) throw invalid(`the metadata "${key}" has the unknown value type ${type}`);
  return found;
}

function toBoolean(byte: number, key: string): boolean {
  if (byte > 1) throw invalid(`the metadata "${key}" is a boolean of value ${byte}`);
  return byte === 1;
}

function exact(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Names must be exact, since things are looked up by them. */
function decodeName(bytes: Uint8Array, what: string): string {
  if (bytes.length === 0) throw invalid(`${what} is empty`);
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw invalid(`${what} is no valid UTF-8`);
  }
}

/** Texts of real tokenizers hold torn characters now and then; these become U+FFFD. */
function decodeText(bytes: Uint8Array): string {
  // Most tokens are a few ASCII characters, for which a TextDecoder call costs more than the whole string.
  if (bytes.length <= 24) {
    let text = '';
    for (const byte of bytes) {
      if (byte >= 128) return lenientUtf8.decode(bytes);
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return lenientUtf8.decode(bytes);
}
