/**
 * The module that the CPU is measured with, put together from WebAssembly's binary format (https://webassembly.github.io/spec/core/binary/): no
 * tool chain for two loops.
 *
 * - `read(from, to, rounds) -> i32` reads memory in order with 16-byte SIMD loads, eight in flight: 128 bytes an iteration.
 * - `flop(rounds, scale, step) -> f32` runs eight chains of multiply and add on four lanes: {@link FLOP_PER_ROUND} FLOP a round.
 */
export function cpuKernels(memoryPages: number): Uint8Array<ArrayBuffer> {
  const types = section(1, [
    ...vector([
      [0x60, ...vector([[I32], [I32], [I32]]), ...vector([[I32]])],
      [0x60, ...vector([[I32], [F32], [F32]]), ...vector([[F32]])],
    ]),
  ]);
  const functions = section(3, vector([[0], [1]]));
  const memory = section(5, vector([[0x00, ...unsigned(memoryPages)]]));
  const exports = section(
    7,
    vector([
      [...name('memory'), 0x02, 0],
      [...name('read'), 0x00, 0],
      [...name('flop'), 0x00, 1],
    ]),
  );
  const code = section(10, vector([body(readLocals, readCode()), body(flopLocals, flopCode())]));
  const magic = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
  return Uint8Array.from([...magic, ...types, ...functions, ...memory, ...exports, ...code]);
}

const UNROLL = 4;
const CHAINS = 8;
/** FLOP of one round of `flop`: a multiply and an add on each lane. */
export const FLOP_PER_ROUND = UNROLL * CHAINS * 4 * 2;
/** Bytes of an iteration of `read`; a page of memory is a multiple of it. */
const READ_BYTES = CHAINS * 16;

const I32 = 0x7f;
const F32 = 0x7d;
const V128 = 0x7b;
const EMPTY = 0x40;

const LOOP = 0x03;
const END = 0x0b;
const BR_IF = 0x0d;
const GET = 0x20;
const SET = 0x21;
const TEE = 0x22;
const I32_CONST = 0x41;
const I32_LT_U = 0x49;
const I32_ADD = 0x6a;
const I32_SUB = 0x6b;

const simd = (code: number): number[] => [0xfd, ...unsigned(code)];
const V128_LOAD = simd(0x00);
const F32X4_SPLAT = simd(0x13);
const I32X4_EXTRACT = simd(0x1b);
const F32X4_EXTRACT = simd(0x1f);
const V128_XOR = simd(0x51);
const F32X4_ADD = simd(0xe4);
const F32X4_MUL = simd(0xe6);

/** After the parameters from (0), to (1), rounds (2): the place (3), and the chains (4 to 11). */
const readLocals = vector([
  [1, I32],
  [CHAINS, V128],
]);
const chains = Array.from({ length: CHAINS }, (_, chain) => chain);

function readCode(): number[] {
  const acc = (chain: number): number => 4 + chain;
  return [
    LOOP,
    EMPTY,
    ...[GET, 0, SET, 3],
    LOOP,
    EMPTY,
    // Aligned to 16 bytes (2^4), at an offset a chain.
    ...chains.flatMap((chain) => [
      ...[GET, acc(chain), GET, 3, ...V128_LOAD, 4, ...unsigned(chain * 16)],
      ...[...V128_XOR, SET, acc(chain)],
    ]),
    ...[GET, 3, I32_CONST, ...signed(READ_BYTES), I32_ADD, TEE, 3, GET, 1, I32_LT_U, BR_IF, 0, END],
    ...countDown(2),
    END,
    ...sum(acc, V128_XOR),
    ...[...I32X4_EXTRACT, 0],
    END,
  ];
}

/** After the parameters rounds (0), scale (1), step (2): both as vectors (3, 4), and the chains (5 to 12). */
const flopLocals = vector([[2 + CHAINS, V128]]);

function flopCode(): number[] {
  const acc = (chain: number): number => 5 + chain;
  const round = chains.flatMap((chain) => [
    ...[GET, acc(chain), GET, 3, ...F32X4_MUL, GET, 4, ...F32X4_ADD, SET, acc(chain)],
  ]);
  return [
    ...[GET, 1, ...F32X4_SPLAT, SET, 3],
    ...[GET, 2, ...F32X4_SPLAT, SET, 4],
    LOOP,
    EMPTY,
    ...Array.from({ length: UNROLL }, () => round).flat(),
    ...countDown(0),
    END,
    ...sum(acc, F32X4_ADD),
    ...[...F32X4_EXTRACT, 0],
    END,
  ];
}

/** Takes one off a local, and repeats the loop unless it is 0. */
const countDown = (local: number): number[] => [GET, local, I32_CONST, 1, I32_SUB, TEE, local, BR_IF, 0];

/** All chains in one value, so that none can be left out. */
const sum = (acc: (chain: number) => number, add: readonly number[]): number[] => [
  GET,
  acc(0),
  ...chains.slice(1).flatMap((chain) => [GET, acc(chain), ...add]),
];

/** LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const more = rest > 0x7f ? 0x80 : 0;
    bytes.push((rest & 0x7f) | more);
    rest >>>= 7;
  } while (rest > 0);
  return bytes;
}

/** LEB128 of a number that is not negative; the top bit of the last byte is its sign. */
function signed(value: number): number[] {
  const bytes = unsigned(value);
  const last = bytes.at(-1)!;
  if ((last & 0x40) === 0) return bytes;
  return [...bytes.slice(0, -1), last | 0x80, 0];
}

function vector(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

const section = (id: number, content: readonly number[]): number[] => [id, ...unsigned(content.length), ...content];

const name = (text: string): number[] => [...unsigned(text.length), ...new TextEncoder().encode(text)];

function body(locals: readonly number[], code: readonly number[]): number[] {
  return [...unsigned(locals.length + code.length), ...locals, ...code];
}
