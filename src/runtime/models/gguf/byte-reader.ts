import { TokenglassError } from '../../../shared/errors.ts';

/** What a {@link ByteReader} can read from: bytes in memory, or chunks that arrive in order. */
export type ByteSource = Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Reads a stream of chunks front to back with as little copying as possible: views into a chunk where what was asked for
 * lies within it, one copy where it spans chunks. Never holds more than what was asked for and one chunk.
 */
export class ByteReader {
  #pull: () => Promise<Uint8Array | undefined>;
  #close: () => Promise<void>;
  #window: Uint8Array = new Uint8Array(0);
  #view = new DataView(this.#window.buffer);
  #at = 0;
  #position = 0;
  #ended = false;

  constructor(source: ByteSource) {
    if (source instanceof Uint8Array) {
      let given: Uint8Array | undefined = source;
      this.#pull = () => {
        const chunk = given;
        given = undefined;
        return Promise.resolve(chunk);
      };
      this.#close = () => Promise.resolve();
    } else if ('getReader' in source) {
      const reader = source.getReader();
      this.#pull = async () => (await reader.read()).value;
      this.#close = () => reader.cancel();
    } else {
      const iterator = source[Symbol.asyncIterator]();
      this.#pull = async () => {
        const next = await iterator.next();
        return next.done === true ? undefined : next.value;
      };
      this.#close = async () => {
        await iterator.return?.();
      };
    }
  }

  /** Offset, from the start of the source, of the next byte to be read. */
  get position(): number {
    return this.#position;
  }

  /** Bytes that can be read without waiting. */
  get available(): number {
    return this.#window.length - this.#at;
  }

  /** Makes `count` bytes available; false if the source ends before. */
  async fill(count: number): Promise<boolean> {
    if (this.available >= count) return true;
    const parts = [this.#window.subarray(this.#at)];
    let have = this.available;
    while (have < count && !this.#ended) {
      const chunk = await this.#pull();
      if (chunk === undefined) this.#ended = true;
      else {
        parts.push(chunk);
        have += chunk.length;
      }
    }
    this.#setWindow(join(parts, have));
    return have >= count;
  }

  /** A view of the next `count` bytes, which are available. Valid for as long as the caller keeps it; not to be written. */
  take(count: number): Uint8Array {
    if (this.available < count) throw new RangeError(`Cannot take ${count} bytes: ${this.available} are available`);
    const bytes = this.#window.subarray(this.#at, this.#at + count);
    this.#at += count;
    this.#position += count;
    return bytes;
  }

  /** Little-endian unsigned 32 bits; 4 bytes are available. */
  takeUint32(): number {
    const value = this.#view.getUint32(this.#at, true);
    this.#at += 4;
    this.#position += 4;
    return value;
  }

  /** Little-endian unsigned 64 bits, exact up to 2^53 and rounded above; 8 bytes are available. */
  takeUint64(): number {
    const low = this.takeUint32();
    return low + this.takeUint32() * 2 ** 32;
  }

  /** The next `count` bytes. @throws TokenglassError `model-invalid` if the source ends before */
  async read(count: number): Promise<Uint8Array> {
    if (!(await this.fill(count))) throw truncated(this.#position + this.available);
    return this.take(count);
  }

  /** The next bytes as they come, at most `max`; undefined at the end. Nothing is copied. */
  async readSome(max: number): Promise<Uint8Array | undefined> {
    while (this.available === 0) if (!(await this.fill(1))) return undefined;
    return this.take(Math.min(max, this.available));
  }

  /** Goes forward to `offset` of the source. @throws TokenglassError `model-invalid` if the source ends before */
  async skipTo(offset: number): Promise<void> {
    if (offset < this.#position) throw new RangeError(`Cannot go back from ${this.#position} to ${offset}`);
    while (this.#position < offset) {
      if ((await this.readSome(offset - this.#position)) === undefined) throw truncated(this.#position);
    }
  }

  /** Tells the source that no more is wanted. */
  async cancel(): Promise<void> {
    this.#ended = true;
    this.#setWindow(new Uint8Array(0));
    await this.#close();
  }

  #setWindow(bytes: Uint8Array): void {
    this.#window = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
  }
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const filled = parts.filter((part) => part.length > 0);
  if (filled.length === 1) return filled[0]!;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of filled) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function truncated(atByte: number): TokenglassError {
  return new TokenglassError(
    'model-invalid',
    `Cannot read the model file: it ends at byte ${atByte}, in the middle of what it announced; download it again`,
    { details: { atByte } },
  );
}
