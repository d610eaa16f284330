/** Types of values that our modules calculate with. */
export type ValueType = 'i32' | 'i64' | 'f32' | 'v128';

/** Code that leaves one value of type `T` on the stack. */
export interface Expression<T extends ValueType> {
  readonly type: T;
  readonly code: readonly number[];
}

export type I32 = Expression<'i32'>;
export type F32 = Expression<'f32'>;
export type V128 = Expression<'v128'>;

/** Signed LEB128. */
export function signedLeb(value: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const byte = value & 0x7f;
    value >>= 7;
    if ((value === 0 && (byte & 0x40) === 0) || (value === -1 && (byte & 0x40) !== 0)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

/** Unsigned LEB128. */
export function leb(value: number): number[] {
  const bytes: number[] = [];
  while (value >= 0x80) {
    bytes.push((value & 0x7f) | 0x80);
    value >>>= 7;
  }
  return [...bytes, value];
}

const SIMD = 0xfd;
const ATOMIC = 0xfe;

const single = new DataView(new ArrayBuffer(4));
const f32Bytes = (value: number): number[] => {
  single.setFloat32(0, value, true);
  return [0, 1, 2, 3].map((at) => single.getUint8(at));
};

const make =
  <T extends ValueType>(type: T) =>
  (...parts: (number | readonly number[])[]): Expression<T> => ({ type, code: parts.flat() });
const i32 = make('i32');
const f32 = make('f32');
const v128 = make('v128');

type Whole = I32 | number;
type Real = F32 | number;
/** A number where an expression is wanted is a constant. */
export const whole = (value: Whole): I32 => (typeof value === 'number' ? i32(0x41, signedLeb(value | 0)) : value);
export const real = (value: Real): F32 => (typeof value === 'number' ? f32(0x43, f32Bytes(value)) : value);

const i32Binary = (opcode: number) => (a: Whole, b: Whole) => i32(whole(a).code, whole(b).code, opcode);
export const add = i32Binary(0x6a);
export const sub = i32Binary(0x6b);
export const mul = i32Binary(0x6c);
export const divide = i32Binary(0x6e);
export const remainder = i32Binary(0x70);
export const shl = i32Binary(0x74);
export const shr = i32Binary(0x75);
export const equal = i32Binary(0x46);
export const notEqual = i32Binary(0x47);
/** Signed comparison. */
export const less = i32Binary(0x48);
export const isZero = (a: I32) => i32(a.code, 0x45);
/** `a` where the condition is not 0, else `b`. */
export const select = (condition: I32, a: Whole, b: Whole) => i32(whole(a).code, whole(b).code, condition.code, 0x1b);

const f32Binary = (opcode: number) => (a: Real, b: Real) => f32(real(a).code, real(b).code, opcode);
export const fAdd = f32Binary(0x92);
export const fSub = f32Binary(0x93);
export const fMul = f32Binary(0x94);
export const fDiv = f32Binary(0x95);
export const fMax = f32Binary(0x97);
export const fSqrt = (a: F32) => f32(a.code, 0x91);
export const fFromInt = (a: I32) => f32(a.code, 0xb2);
export const fEqual = (a: Real, b: Real) => i32(real(a).code, real(b).code, 0x5b);

/** Loads take an address and a constant offset; the alignment is only a hint, so none is promised. */
export const load = (at: I32, offset = 0) => i32(at.code, 0x28, 0, leb(offset));
export const fLoad = (at: I32, offset = 0) => f32(at.code, 0x2a, 0, leb(offset));

const vectorLoad =
  (opcode: number) =>
  (at: I32, offset = 0) =>
    v128(at.code, SIMD, opcode, 0, leb(offset));
export const vLoad = vectorLoad(0x00);
/** Four 16-bit numbers, each extended with its sign to 32 bits. */
export const vLoad16x4Signed = vectorLoad(0x03);
export const vLoad16x4 = vectorLoad(0x04);
export const vLoadSplat32 = vectorLoad(0x09);
export const vLoadSplat64 = vectorLoad(0x0a);

export const vConst32 = (value: number) => {
  const bytes = [0, 8, 16, 24].map((bits) => (value >>> bits) & 255);
  return v128(SIMD, 0x0c, bytes, bytes, bytes, bytes);
};
export const vConstF32 = (value: number) => {
  const bytes = f32Bytes(value);
  return v128(SIMD, 0x0c, bytes, bytes, bytes, bytes);
};
export const vShuffle = (a: V128, b: V128, lanes: readonly number[]) => v128(a.code, b.code, SIMD, 0x0d, lanes);
export const vSplatF32 = (a: Real) => v128(real(a).code, SIMD, 0x13);
export const vLane = (a: V128, lane: number) => i32(a.code, SIMD, 0x1b, lane);
export const vLaneF32 = (a: V128, lane: number) => f32(a.code, SIMD, 0x1f, lane);

const vBinary = (opcode: number) => (a: V128, b: V128) => v128(a.code, b.code, SIMD, leb(opcode));
const vUnary = (opcode: number) => (a: V128) => v128(a.code, SIMD, leb(opcode));
const vShift = (opcode: number) => (a: V128, bits: number) => v128(a.code, whole(bits).code, SIMD, leb(opcode));
export const vAnd = vBinary(0x4e);
export const vShr8 = vShift(0x6d);
export const vShl32 = vShift(0xab);
export const vAdd32 = vBinary(0xae);
export const vNarrow32 = vBinary(0x85);
export const vNarrow16 = vBinary(0x65);
export const vExtendLowUnsigned8 = vUnary(0x89);
export const vExtendHighUnsigned8 = vUnary(0x8a);
/** Products of 16-bit numbers, neighbours added: four 32-bit sums. */
export const vDot16 = vBinary(0xba);
export const vAddF32 = vBinary(0xe4);
export const vSubF32 = vBinary(0xe5);
export const vMulF32 = vBinary(0xe6);
export const vDivF32 = vBinary(0xe7);
export const vMinF32 = vBinary(0xe8);
export const vMaxF32 = vBinary(0xe9);
export const vAbsF32 = vUnary(0xe0);
export const vNearest = vUnary(0x6a);
export const vGreaterF32 = vBinary(0x44);
export const vToInt = vUnary(0xf8);
export const vFromInt = vUnary(0xfa);
/**
 * Adds to each 32-bit sum four products of 8-bit numbers: `a` signed, `b` from 0 to 127 (then all processors agree on the result).
 * @see https://github.com/WebAssembly/relaxed-simd
 */
export const vRelaxedDot8 = (a: V128, b: V128, sums: V128) => v128(a.code, b.code, sums.code, SIMD, leb(0x113));

export const atomicLoad = (at: I32, offset = 0) => i32(at.code, ATOMIC, 0x10, 2, leb(offset));
/** Adds and gives what was there before. */
export const atomicAdd = (at: I32, value: Whole, offset = 0) =>
  i32(at.code, whole(value).code, ATOMIC, 0x1e, 2, leb(offset));
/** Wakes all that wait; gives how many. */
export const atomicNotify = (at: I32, offset = 0) => i32(at.code, whole(-1).code, ATOMIC, 0x00, 2, leb(offset));
/** Sleeps while the word is `value`, at most so long (-1: for ever); 2: the time was up. */
export const atomicWait = (at: I32, value: I32, offset: number, milliseconds: number) =>
  i32(
    at.code,
    value.code,
    0x42,
    longLeb(milliseconds < 0 ? -1n : BigInt(milliseconds) * 1_000_000n),
    ATOMIC,
    0x01,
    2,
    leb(offset),
  );

function longLeb(value: bigint): number[] {
  const bytes: number[] = [];
  for (;;) {
    const byte = Number(value & 0x7fn);
    value >>= 7n;
    if ((value === 0n && (byte & 0x40) === 0) || (value === -1n && (byte & 0x40) !== 0)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}
