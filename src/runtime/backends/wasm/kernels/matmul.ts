import {
  add,
  less,
  load,
  mul,
  vAdd32,
  vAddF32,
  vAnd,
  vConst32,
  vConstF32,
  vDot16,
  vExtendHighUnsigned8,
  vExtendLowUnsigned8,
  vFromInt,
  vLoad,
  vLoad16x4,
  vLoad16x4Signed,
  vLoadSplat32,
  vLoadSplat64,
  vMulF32,
  vRelaxedDot8,
  vShl32,
  vShr8,
  vShuffle,
  vSplatF32,
  type F32,
  type I32,
  type V128,
} from '../emit/expressions.ts';
import type { FunctionReference, FunctionWriter, Local, ModuleWriter } from '../emit/module.ts';
import { FORMATS, RECORD, recordBytes, recordValueBytes, TASK_ROWS, type WasmFormat } from '../layout.ts';
import { forTasks, operands, type KernelOptions } from './operation.ts';

/** Words of a matrix product; y = scale (W x + bias) for each token row, or y += the same. */
export const MATMUL = operands([
  'weights',
  /** Bytes of four rows. */
  'groupBytes',
  /** Tasks of eight rows. */
  'tasks',
  /** Records of 32 columns. */
  'records',
  /** First row of activations (records, or f32 for float formats), and bytes from row to row. */
  'x',
  'xStride',
  'y',
  'yStride',
  /** Address of f32 to be added; 0: none. */
  'bias',
  /** Not 0: added to y. */
  'accumulate',
  'scale',
  /** Address of the word that tells how many token rows there are. */
  'rows',
  /** Tasks that a thread takes at a time. */
  'chunk',
]);

/** Tokens whose products are computed with the weights decoded once. */
const TILE_TOKENS = 4;

/** Adds the operation `y = W x` for a weight format: its tasks are eight rows each, for all tokens. */
export function addMatmul(module: ModuleWriter, format: WasmFormat, options: KernelOptions): FunctionReference {
  const one = addTile(module, format, { tokens: 1, groups: 2 }, options);
  const four = addTile(module, format, { tokens: TILE_TOKENS, groups: 1 }, options);
  return module.add(['i32'], (f, op) => {
    const get = MATMUL.reader(f, op);
    const tokens = f.int(load(get('rows')));
    const groupBytes = f.int(get('groupBytes'));
    const xStride = f.int(get('xStride'));
    const yStride = f.int(get('yStride'));
    const task = f.local('i32');
    forTasks(f, op, { total: get('tasks'), chunk: get('chunk'), task, options }, () => {
      const weights = f.int(add(get('weights'), mul(mul(task, 2), groupBytes)));
      const x = f.int(get('x'));
      const y = f.int(add(get('y'), mul(task, TASK_ROWS * 4)));
      const bias = f.int(get('bias'));
      f.if(bias, () => f.set(bias, add(bias, mul(task, TASK_ROWS * 4))));
      const token = f.int(0);
      const shared = [get('records'), xStride, yStride, get('accumulate'), get.float('scale')] as const;
      f.while(less(add(token, TILE_TOKENS - 1), tokens), () => {
        const second = { y: add(y, 16), bias: f.int(bias) };
        f.if(bias, () => f.set(second.bias, add(bias, 16)));
        f.call(four, weights, groupBytes, x, y, bias, ...shared);
        f.call(four, add(weights, groupBytes), groupBytes, x, second.y, second.bias, ...shared);
        f.set(x, add(x, mul(xStride, TILE_TOKENS)));
        f.set(y, add(y, mul(yStride, TILE_TOKENS)));
        f.set(token, add(token, TILE_TOKENS));
      });
      f.count(token, tokens, 1, () => {
        f.call(one, weights, groupBytes, x, y, bias, ...shared);
        f.set(x, add(x, xStride));
        f.set(y, add(y, yStride));
      });
    });
  });
}

interface Tile {
  tokens: number;
  /** Groups of four rows. */
  groups: number;
}

/** What the body of a tile works with. */
interface TileBody {
  f: FunctionWriter;
  tile: Tile;
  options: KernelOptions;
  weights: Local<'i32'>;
  groupBytes: I32;
  records: I32;
  /** Address of each token's activations. */
  x: readonly Local<'i32'>[];
  /** f32 sums of each token and group. */
  sums: readonly (readonly Local<'v128'>[])[];
}

/** The product of some groups of rows with some tokens; sums are over columns in their order, whatever the tile. */
function addTile(module: ModuleWriter, format: WasmFormat, tile: Tile, options: KernelOptions): FunctionReference {
  return module.add(
    ['i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'f32'],
    (f, weights, groupBytes, xAt, y, bias, records, xStride, yStride, accumulate, scale) => {
      const tokens = Array.from({ length: tile.tokens }, (_, token) => token);
      const groups = Array.from({ length: tile.groups }, (_, group) => group);
      const x = tokens.map((token) => f.int(add(xAt, mul(xStride, token))));
      const sums = tokens.map(() => groups.map(() => f.local('v128', vConst32(0))));
      const body = { f, tile, options, weights, groupBytes, records, x, sums };
      if (FORMATS[format].group === 0) floatLoop(body, format);
      else if (FORMATS[format].bytes === 16 && FORMATS[format].group === 32) nibbleLoop(body, format);
      else byteLoop(body, format);
      for (const token of tokens) finish(f, sums[token]!, { y: add(y, mul(yStride, token)), bias, accumulate, scale });
    },
  );
}

function finish(
  f: FunctionWriter,
  sums: readonly Local<'v128'>[],
  { y, bias, accumulate, scale }: { y: I32; bias: I32; accumulate: I32; scale: F32 },
): void {
  const at = f.int(y);
  f.if(bias, () => {
    for (const [group, sum] of sums.entries()) f.set(sum, vAddF32(sum, vLoad(bias, group * 16)));
  });
  for (const sum of sums) f.set(sum, vMulF32(sum, vSplatF32(scale)));
  f.if(accumulate, () => {
    for (const [group, sum] of sums.entries()) f.set(sum, vAddF32(vLoad(at, group * 16), sum));
  });
  for (const [group, sum] of sums.entries()) f.storeVector(at, sum, group * 16);
}

/** Four f16 at an address as f32: the bits are shifted to their place, and the exponent's bias is made up for. */
export function halves(at: I32, offset = 0): V128 {
  const bits = vAnd(vShl32(vLoad16x4Signed(at, offset), 13), vConst32(0x8fffe000));
  return vMulF32(bits, vConstF32(2 ** 112));
}

/** Adds products of a vector of weights (bytes from 0 to 255, below 128 with relaxed SIMD) with four columns of activations. */
class Dots {
  readonly #body: TileBody;
  readonly #low: Local<'v128'>[][];
  readonly #high: Local<'v128'>[][];

  constructor(body: TileBody) {
    const { f, tile, options } = body;
    const make = () =>
      Array.from({ length: tile.tokens }, () => Array.from({ length: tile.groups }, () => f.local('v128')));
    this.#body = body;
    this.#low = make();
    this.#high = options.isRelaxed ? [] : make();
  }

  clear(): void {
    for (const row of [...this.#low, ...this.#high]) for (const sum of row) this.#body.f.set(sum, vConst32(0));
  }

  /** Sums begin with what is given: with plain SIMD it is added at the end. */
  add(group: number, weights: V128, column: number): void {
    const { f, x, options } = this.#body;
    if (options.isRelaxed) {
      for (const [token, at] of x.entries()) {
        const sum = this.#low[token]![group]!;
        f.set(sum, vRelaxedDot8(vLoadSplat32(at, column), weights, sum));
      }
      return;
    }
    const low = f.local('v128', vExtendLowUnsigned8(weights));
    const high = f.local('v128', vExtendHighUnsigned8(weights));
    for (const [token, at] of x.entries()) {
      const four = f.local('v128', vLoadSplat64(at, column * 2));
      const [lowSum, highSum] = [this.#low[token]![group]!, this.#high[token]![group]!];
      f.set(lowSum, vAdd32(lowSum, vDot16(low, four)));
      f.set(highSum, vAdd32(highSum, vDot16(high, four)));
    }
  }

  /** One 32-bit sum a row. */
  total(token: number, group: number): V128 {
    const low = this.#low[token]![group]!;
    if (this.#body.options.isRelaxed) return low;
    const high = this.#high[token]![group]!;
    return vAdd32(vShuffle(low, high, EVEN_LANES), vShuffle(low, high, ODD_LANES));
  }
}

const lanes = (which: readonly number[]): number[] =>
  which.flatMap((lane) => [0, 1, 2, 3].map((byte) => lane * 4 + byte));
const EVEN_LANES = lanes([0, 2, 4, 6]);
const ODD_LANES = lanes([1, 3, 5, 7]);

/** 4-bit weights: the low nibbles of a vector are of columns 4j on, its high ones of columns 16 + 4j on. */
function nibbleLoop(body: TileBody, format: WasmFormat): void {
  const { f, tile, options, weights, groupBytes, records, x, sums } = body;
  const { minimum } = FORMATS[format];
  const meta = recordValueBytes(options.isRelaxed);
  const dots = new Dots(body);
  const values = eachGroup(body, (group) => f.int(add(weights, mul(groupBytes, group))));
  const scales = values.map((at) => f.int(add(at, mul(records, 64))));
  const minima = minimum ? scales.map((at) => f.int(add(at, mul(records, 8)))) : [];
  const packed = f.local('v128');
  const record = f.int(0);
  f.count(record, records, 1, () => {
    dots.clear();
    for (let j = 0; j < 4; j++) {
      for (let group = 0; group < tile.groups; group++) {
        f.set(packed, vLoad(values[group]!, j * 16));
        dots.add(group, vAnd(packed, vConst32(0x0f0f0f0f)), j * 4);
        dots.add(group, vShr8(packed, 4), 16 + j * 4);
      }
    }
    for (let group = 0; group < tile.groups; group++) {
      const scale = f.local('v128', halves(scales[group]!));
      const least = minimum ? f.local('v128', halves(minima[group]!)) : undefined;
      for (const [token, at] of x.entries()) {
        const sum = sums[token]![group]!;
        const dot = dots.total(token, group);
        const whole = minimum ? dot : vAdd32(dot, vLoadSplat32(at, meta + RECORD.lessOffset4));
        f.set(sum, vAddF32(sum, vMulF32(vFromInt(whole), vMulF32(scale, vLoadSplat32(at, meta + RECORD.scale)))));
        if (least) f.set(sum, vAddF32(sum, vMulF32(least, vLoadSplat32(at, meta + RECORD.sum))));
      }
      f.set(values[group]!, add(values[group]!, 64));
      f.set(scales[group]!, add(scales[group]!, 8));
      if (minimum) f.set(minima[group]!, add(minima[group]!, 8));
    }
    for (const at of x) f.set(at, add(at, recordBytes(options.isRelaxed)));
  });
}

/** Weights in bytes, in groups of 16 columns: two of them go with a record. */
function byteLoop(body: TileBody, format: WasmFormat): void {
  const { f, tile, options, weights, groupBytes, records, x, sums } = body;
  const { minimum, offset } = FORMATS[format];
  const meta = recordValueBytes(options.isRelaxed);
  // With relaxed SIMD a weight of 8 bits is two of 4, of which the high ones count 16 times.
  const isSplit = options.isRelaxed && offset === 128;
  const dots = new Dots(body);
  const highDots = isSplit ? new Dots(body) : undefined;
  const values = eachGroup(body, (group) => f.int(add(weights, mul(groupBytes, group))));
  const scales = values.map((at) => f.int(add(at, mul(records, 128))));
  const minima = minimum ? scales.map((at) => f.int(add(at, mul(records, 16)))) : [];
  const packed = f.local('v128');
  const record = f.int(0);
  f.count(record, records, 1, () => {
    for (let half = 0; half < 2; half++) {
      dots.clear();
      highDots?.clear();
      for (let j = 0; j < 4; j++) {
        for (let group = 0; group < tile.groups; group++) {
          const column = half * 16 + j * 4;
          f.set(packed, vLoad(values[group]!, half * 64 + j * 16));
          if (highDots) {
            dots.add(group, vAnd(packed, vConst32(0x0f0f0f0f)), column);
            highDots.add(group, vShr8(packed, 4), column);
          } else dots.add(group, packed, column);
        }
      }
      for (let group = 0; group < tile.groups; group++) {
        const scale = f.local('v128', halves(scales[group]!, half * 8));
        const least = minimum ? f.local('v128', halves(minima[group]!, half * 8)) : undefined;
        for (const [token, at] of x.entries()) {
          const sum = sums[token]![group]!;
          let dot = dots.total(token, group);
          if (highDots) dot = vAdd32(dot, vShl32(highDots.total(token, group), 4));
          const less = vLoadSplat32(at, meta + RECORD.lessOffset7 + half * 4);
          if (offset === 64) dot = vAdd32(dot, less);
          if (offset === 128) dot = vAdd32(dot, vShl32(less, 1));
          f.set(sum, vAddF32(sum, vMulF32(vFromInt(dot), vMulF32(scale, vLoadSplat32(at, meta + RECORD.scale)))));
          if (least) f.set(sum, vAddF32(sum, vMulF32(least, vLoadSplat32(at, meta + RECORD.halfSums + half * 4))));
        }
      }
    }
    for (let group = 0; group < tile.groups; group++) {
      f.set(values[group]!, add(values[group]!, 128));
      f.set(scales[group]!, add(scales[group]!, 16));
      if (minimum) f.set(minima[group]!, add(minima[group]!, 16));
    }
    for (const at of x) f.set(at, add(at, recordBytes(options.isRelaxed)));
  });
}

/** Float weights times f32 activations, a column of four rows at a time. */
function floatLoop(body: TileBody, format: WasmFormat): void {
  const { f, tile, weights, groupBytes, records, x, sums } = body;
  const { bytes } = FORMATS[format];
  const values = eachGroup(body, (group) => f.int(add(weights, mul(groupBytes, group))));
  const four = f.local('v128');
  const column = f.int(0);
  f.count(column, mul(records, 32), 4, () => {
    for (let i = 0; i < 4; i++) {
      for (let group = 0; group < tile.groups; group++) {
        const [at, offset] = [values[group]!, i * bytes * 4];
        if (format === 'f32') f.set(four, vLoad(at, offset));
        else if (format === 'bf16') f.set(four, vShl32(vLoad16x4(at, offset), 16));
        else f.set(four, halves(at, offset));
        for (const [token, from] of x.entries()) {
          const sum = sums[token]![group]!;
          f.set(sum, vAddF32(sum, vMulF32(four, vLoadSplat32(from, i * 4))));
        }
      }
    }
    for (const at of values) f.set(at, add(at, bytes * 16));
    for (const at of x) f.set(at, add(at, 16));
  });
}

function eachGroup<T>({ tile }: TileBody, make: (group: number) => T): T[] {
  return Array.from({ length: tile.groups }, (_, group) => make(group));
}
