import { expect } from 'chai';
import { isTokenglassError, type ErrorCode } from '../../../shared/errors.ts';
import { bool, concatChunks, f32, ggufChunks, ggufHeader, str, u32, type GgufSpec } from '../testing/gguf-writer.ts';
import { SeededRandom } from '../testing/random.ts';
import { makeSyntheticGguf, SHAPES } from '../testing/synthetic-model.ts';
import { ByteReader } from './byte-reader.ts';
import { MAX_HEADER_BYTES } from './limits.ts';
import { readGgufHeader } from './read-header.ts';

const vector = (name: string, type: 'F32' | 'Q4_0', shape: readonly number[], bytes: number) => ({
  name,
  type,
  shape,
  chunks: () => [new Uint8Array(bytes).fill(7)],
});

const SPEC: GgufSpec = {
  metadata: [
    ['general.architecture', str('llama')],
    ['a.u32', u32(4_000_000_000)],
    ['a.u64', { type: 'uint64', value: 2 ** 40 }],
    ['a.f32', f32(0.5)],
    ['a.bool', bool(true)],
    ['a.text', str('grüße, 世界, and a text that is longer than the short path')],
    ['a.strings', { type: 'strings', value: ['', 'a', 'ü', '世界', '\uFEFFb'] }],
    ['a.bools', { type: 'bools', value: [true, false] }],
    ['a.int32s', { type: 'int32s', value: Int32Array.of(-1, 2) }],
    ['a.float32s', { type: 'float32s', value: Float32Array.of(1.5, -2) }],
  ],
  tensors: [vector('one', 'F32', [3, 2], 24), vector('two', 'Q4_0', [64], 36)],
};

const whole = concatChunks(ggufChunks(SPEC));
const HEADER_BYTES = ggufHeader(SPEC).length;

function* pieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const streamOf = (chunks: Iterable<Uint8Array>) => {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
  });
};

async function refusal(bytes: Uint8Array, totalBytes?: number): Promise<{ code: ErrorCode; message: string }> {
  try {
    await readGgufHeader(bytes, totalBytes === undefined ? {} : { totalBytes });
  } catch (error) {
    if (isTokenglassError(error)) return error;
    throw error;
  }
  throw new Error('It was read');
}

/** The header with one number of it overwritten. */
function patched(at: number, value: bigint | number): Uint8Array {
  const bytes = whole.slice();
  const view = new DataView(bytes.buffer);
  if (typeof value === 'bigint') view.setBigUint64(at, value, true);
  else view.setUint32(at, value, true);
  return bytes;
}

const indexOf = (text: string) => new TextDecoder('latin1').decode(whole).indexOf(text);
/** Where the info of a tensor goes on after its name: dimensions, shape, type, offset. */
const afterName = (name: string) => indexOf(`\0\0\0\0\0\0\0${name}`) + 7 + name.length;

describe('readGgufHeader', () => {
  it('readGgufHeader: gives metadata, tensors and offsets', async () => {
    const header = await readGgufHeader(whole, { totalBytes: whole.length });
    expect(header.version).to.equal(3);
    expect(Object.fromEntries(header.metadata)).to.deep.equal({
      'general.architecture': 'llama',
      'a.u32': 4_000_000_000,
      'a.u64': 2 ** 40,
      'a.f32': 0.5,
      'a.bool': true,
      'a.text': 'grüße, 世界, and a text that is longer than the short path',
      'a.strings': ['', 'a', 'ü', '世界', '\uFEFFb'],
      'a.bools': [true, false],
      'a.int32s': Int32Array.of(-1, 2),
      'a.float32s': Float32Array.of(1.5, -2),
    });
    const dataOffset = Math.ceil(HEADER_BYTES / 32) * 32;
    expect(header).to.include({ headerBytes: HEADER_BYTES, dataOffset, alignment: 32, endOffset: dataOffset + 68 });
    expect(header.tensors).to.deep.equal([
      { name: 'one', shape: [3, 2], type: 'F32', elements: 6, offset: dataOffset, byteLength: 24 },
      { name: 'two', shape: [64], type: 'Q4_0', elements: 64, offset: dataOffset + 32, byteLength: 36 },
    ]);
  });

  for (const size of [1, 7, 64, 100_000]) {
    it(`readGgufHeader: gives the same from chunks of ${size} bytes, and leaves the body to be read on`, async () => {
      const reader = new ByteReader(streamOf(pieces(whole, size)));
      const header = await readGgufHeader(reader);
      expect(header).to.deep.equal(await readGgufHeader(whole));
      expect(reader.position).to.equal(header.headerBytes);
      await reader.skipTo(header.tensors[1]!.offset);
      expect([...(await reader.read(36))]).to.deep.equal(new Array(36).fill(7));
    });
  }

  it('readGgufHeader: asks for no chunk after the one that the header ends in', async () => {
    let given = 0;
    const counting = (function* () {
      for (const piece of pieces(whole, 16)) {
        given += piece.length;
        yield piece;
      }
    })();
    const source = (async function* () {
      yield* counting;
      await Promise.resolve();
    })();
    await readGgufHeader(source);
    expect(given).to.equal(Math.ceil(HEADER_BYTES / 16) * 16);
  });

  it('readGgufHeader: reads a vocabulary of 151,936 tokens', async () => {
    const gguf = makeSyntheticGguf({ ...SHAPES.odd, vocab: 151_936, architecture: 'qwen2', quantization: 'Q4_0' });
    const { metadata } = await readGgufHeader(streamOf(pieces(gguf, 65_536)));
    expect(metadata.get('tokenizer.ggml.tokens')).to.have.length(151_936);
  });

  const broken: [string, () => Uint8Array, ErrorCode, RegExp][] = [
    ['no GGUF', () => patched(0, 0x12345678), 'model-invalid', /GGUF/],
    ['nothing', () => new Uint8Array(0), 'model-invalid', /ends at byte 0/],
    ['version 1', () => patched(4, 1), 'model-unsupported', /version 1/],
    ['version 4', () => patched(4, 4), 'model-unsupported', /version 4/],
    ['big endian', () => patched(4, 0x03000000), 'model-unsupported', /big-endian/],
    ['2^63 tensors', () => patched(8, 1n << 63n), 'model-invalid', /tensors/],
    ['2^32 metadata pairs', () => patched(16, 1n << 32n), 'model-invalid', /metadata pairs/],
    ['a key of 2^40 bytes', () => patched(24, 1n << 40n), 'model-invalid', /metadata key/],
    ['an empty key', () => patched(24, 0n), 'model-invalid', /empty/],
    ['an unknown value type', () => patched(indexOf('a.u32') + 5, 13), 'model-invalid', /"a.u32".*type 13/],
    ['a string of 2^50 bytes', () => patched(indexOf('a.text') + 10, 1n << 50n), 'model-invalid', /string of/],
    ['an array of 2^40', () => patched(indexOf('a.int32s') + 16, 1n << 40n), 'model-invalid', /"a.int32s".*elements/],
    ['an array beyond the end', () => patched(indexOf('a.int32s') + 16, 4_000_000n), 'model-invalid', /"a.int32s"/],
    ['an array of arrays', () => patched(indexOf('a.int32s') + 12, 9), 'model-unsupported', /array of arrays/],
    ['no dimensions', () => patched(afterName('one'), 0), 'model-invalid', /"one" has 0 dimensions/],
    ['five dimensions', () => patched(afterName('one'), 5), 'model-invalid', /"one" has 5 dimensions/],
    ['a size of 0', () => patched(afterName('one') + 4, 0n), 'model-invalid', /"one".*shape/],
    ['sizes that overflow', () => patched(afterName('one') + 4, 1n << 60n), 'model-invalid', /"one".*shape/],
    ['an unread type', () => patched(afterName('two') + 12, 20), 'model-unsupported', /"two".*IQ4_NL/],
    ['an unknown type', () => patched(afterName('two') + 12, 999), 'model-unsupported', /"two".*number 999/],
    ['rows of part blocks', () => patched(afterName('two') + 4, 63n), 'model-invalid', /"two".*whole blocks/],
    ['an unaligned offset', () => patched(afterName('two') + 16, 33n), 'model-invalid', /"two".*aligned/],
    ['an offset of 2^62', () => patched(afterName('two') + 16, 1n << 62n), 'model-invalid', /"two"/],
    ['overlapping tensors', () => patched(afterName('two') + 16, 0n), 'model-invalid', /overlap/],
  ];
  for (const [what, bytes, code, message] of broken) {
    it(`readGgufHeader: refuses ${what}`, async () => {
      const error = await refusal(bytes());
      expect(error.code).to.equal(code);
      expect(error.message).to.match(message);
    });
  }

  it('readGgufHeader: refuses doubled keys and tensors, and an odd alignment', async () => {
    const twice = (spec: GgufSpec) => refusal(ggufHeader(spec));
    expect((await twice({ ...SPEC, metadata: [...SPEC.metadata, ['a.u32', u32(1)]] })).message).to.match(/"a.u32".*twice/);
    expect((await twice({ ...SPEC, tensors: [...SPEC.tensors, SPEC.tensors[0]!] })).message).to.match(/"one".*twice/);
    for (const alignment of [u32(0), u32(48), u32(4), u32(2 ** 31), str('32')]) {
      const error = await twice({ ...SPEC, metadata: [['general.alignment', alignment]] });
      expect(error.code).to.equal('model-invalid');
      expect(error.message).to.match(/alignment/);
    }
  });

  it('readGgufHeader: refuses a file that is too short for its tensors, with the numbers', async () => {
    const error = await refusal(whole, whole.length - 33);
    expect(error).to.have.property('code', 'model-invalid');
    expect(error).to.have.deep.property('details', { neededBytes: whole.length - 28, totalBytes: whole.length - 33 });
  });

  it('readGgufHeader: refuses every header that is cut short, wherever', async () => {
    for (let length = 0; length < HEADER_BYTES; length++) {
      expect((await refusal(whole.subarray(0, length))).code, `${length} bytes`).to.equal('model-invalid');
    }
  });

  it('readGgufHeader: gives up on a header without end after the limit', async () => {
    let given = 0;
    const start = ggufHeader({ metadata: [], tensors: [] });
    new DataView(start.buffer).setBigUint64(16, 4096n, true);
    // A pair of 1 MiB each: a key that counts up, and a string.
    const endless = (function* () {
      yield start;
      for (let index = 0; ; index++) {
        const pair = ggufHeader({ metadata: [[`key ${index}`, str('x'.repeat(2 ** 20))]], tensors: [] }).subarray(24);
        given += pair.length;
        yield pair;
      }
    })();
    let message = '';
    await readGgufHeader(streamOf(endless)).catch((error: unknown) => (message = String(error)));
    expect(message).to.match(/longer than/);
    expect(given).to.be.within(MAX_HEADER_BYTES - 2 ** 22, MAX_HEADER_BYTES + 2 ** 22);
  });

  it('readGgufHeader: reads or refuses 20,000 damaged headers with a code, in bounded time', async () => {
    const random = new SeededRandom(3);
    const header = whole.subarray(0, HEADER_BYTES);
    let slowest = 0;
    let read = 0;
    for (let round = 0; round < 20_000; round++) {
      const bytes = damage(header, random);
      const before = performance.now();
      try {
        await readGgufHeader(bytes);
        read++;
      } catch (error) {
        if (!isTokenglassError(error, 'model-invalid') && !isTokenglassError(error, 'model-unsupported')) throw error;
      }
      slowest = Math.max(slowest, performance.now() - before);
    }
    // Damage in the middle of a text leaves a valid header: both outcomes must occur, or nothing was tested.
    expect(read).to.be.within(100, 19_000);
    expect(slowest).to.be.below(1000);
  });
});

/** One to four of: a byte changed, a number set to an extreme, a piece cut out, a piece doubled. */
function damage(header: Uint8Array, random: SeededRandom): Uint8Array {
  let bytes = header.slice();
  for (let times = 1 + random.integer(4); times > 0; times--) {
    const at = random.integer(Math.max(1, bytes.length - 8));
    const length = random.integer(16);
    switch (random.integer(4)) {
      case 0:
        bytes[at] = random.integer(256);
        break;
      case 1:
        if (bytes.length >= at + 8) new DataView(bytes.buffer).setBigUint64(at, 1n << BigInt(random.integer(64)), true);
        break;
      case 2:
        bytes = concatChunks([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      default:
        bytes = concatChunks([bytes.subarray(0, at + length), bytes.subarray(at)]);
    }
  }
  return bytes;
}
