import {
  add,
  equal,
  fAdd,
  fDiv,
  fEqual,
  fFromInt,
  fMax,
  fMul,
  fSqrt,
  load,
  mul,
  real,
  sub,
  vAbsF32,
  vAdd32,
  vAddF32,
  vConst32,
  vDivF32,
  vConstF32,
  vLane,
  vLaneF32,
  vLoad,
  vMaxF32,
  vMulF32,
  vNarrow16,
  vNarrow32,
  vNearest,
  vSplatF32,
  vSubF32,
  vToInt,
  whole,
  type F32,
  type I32,
  type V128,
} from '../emit/expressions.ts';
import { callOf, type FunctionReference, type FunctionWriter, type Local, type ModuleWriter } from '../emit/module.ts';
import { RECORD, recordBytes, recordValueBytes } from '../layout.ts';
import { forTasks, operands, type KernelOptions } from './operation.ts';

/** Words of the operation that makes inputs of matrix products of rows: a norm, if there is a gain, then records of 8 bits. */
export const INPUT = operands([
  'from',
  'fromStride',
  /** f32 that follow `from` row by row; 0: none. What is to be multiplied is activation(from) * up. */
  'up',
  /** 0: SiLU, 1: GELU with tanh. */
  'activation',
  'gain',
  'eps',
  'cols',
  /** Where the f32 go, as float matrices take them; stride is that of `from`. */
  'values',
  'valuesStride',
  /** Where records go; 0: nowhere, all matrices are of float types. */
  'records',
  'recordsStride',
  'rows',
  /** Address of the row numbers to take; 0: all rows in order. */
  'index',
]);

/** Words of the operation x += scale * norm(from): what a block with a norm after it gives. */
export const ADD_NORM = operands(['from', 'fromStride', 'gain', 'eps', 'cols', 'x', 'xStride', 'scale', 'rows']);

export interface RowFunctions {
  /** (from, gain, to, cols, eps): RMSNorm of a row. */
  norm: FunctionReference;
  /** (from, to, records): a row as records. */
  quantise: FunctionReference;
  /** (gate, up, to, cols, activation) */
  gate: FunctionReference;
}

/** Functions on one row. Rows are padded with zeros to multiples of 32 columns, which all of them keep. */
export function addRowFunctions(
  module: ModuleWriter,
  exponential: FunctionReference,
  options: KernelOptions,
): RowFunctions {
  return {
    norm: module.add(['i32', 'i32', 'i32', 'i32', 'f32'], (f, from, gain, to, cols, eps) => {
      const scale = normScale(f, from, cols, eps);
      const end = f.int(add(from, mul(cols, 4)));
      f.while({ type: 'i32', code: [...from.code, ...end.code, 0x49] }, () => {
        f.storeVector(to, vMulF32(vMulF32(vLoad(from), vSplatF32(scale)), vLoad(gain)));
        for (const at of [from, to, gain]) f.set(at, add(at, 16));
      });
    }),
    quantise: module.add(['i32', 'i32', 'i32'], (f, from, to, records) => {
      const record = f.int(0);
      f.count(record, records, 1, () => {
        quantiseRecord(f, from, to, options);
        f.set(from, add(from, 128));
        f.set(to, add(to, recordBytes(options.isRelaxed)));
      });
    }),
    gate: module.add(['i32', 'i32', 'i32', 'i32', 'i32'], (f, gate, up, to, cols, activation) => {
      const column = f.int(0);
      const exp = (x: V128): V128 => callOf('v128', exponential, x);
      f.count(column, cols, 4, () => {
        const x = f.local('v128', vLoad(gate));
        const y = f.local('v128');
        f.if(
          equal(activation, 0),
          () => f.set(y, vDivF32(x, vAddF32(vConstF32(1), exp(vSubF32(vConst32(0), x))))),
          () => {
            // x / (1 + e^-2u) is 0.5 x (1 + tanh(u))
            const cubed = vMulF32(vMulF32(vMulF32(x, x), x), vConstF32(0.044715));
            const u = vMulF32(vAddF32(x, cubed), vConstF32(-2 * Math.sqrt(2 / Math.PI)));
            f.set(y, vDivF32(x, vAddF32(vConstF32(1), exp(u))));
          },
        );
        f.storeVector(to, vMulF32(y, vLoad(up)));
        for (const at of [gate, up, to]) f.set(at, add(at, 16));
      });
    }),
  };
}

/** 1 / sqrt(mean of squares + eps). @param cols a multiple of 4 */
function normScale(f: FunctionWriter, from: I32, cols: I32, eps: F32): Local<'f32'> {
  const at = f.int(from);
  const end = f.int(add(from, mul(cols, 4)));
  const squares = f.local('v128', vConst32(0));
  f.while({ type: 'i32', code: [...at.code, ...end.code, 0x49] }, () => {
    f.set(squares, vAddF32(squares, vMulF32(vLoad(at), vLoad(at))));
    f.set(at, add(at, 16));
  });
  const sum = [1, 2, 3].reduce((total, lane) => fAdd(total, vLaneF32(squares, lane)), vLaneF32(squares, 0));
  return f.local('f32', fDiv(1, fSqrt(fAdd(fDiv(sum, fFromInt(cols)), eps))));
}

/** 32 values as 8 bits: the largest becomes 127 or -127. */
function quantiseRecord(f: FunctionWriter, from: I32, to: I32, { isRelaxed }: KernelOptions): void {
  const values = Array.from({ length: 8 }, (_, i) => f.local('v128', vLoad(from, i * 16)));
  const most = f.local('v128', vAbsF32(values[0]!));
  for (const value of values.slice(1)) f.set(most, vMaxF32(most, vAbsF32(value)));
  const largest = f.local(
    'f32',
    [1, 2, 3].reduce((best: F32, lane) => fMax(best, vLaneF32(most, lane)), vLaneF32(most, 0)),
  );
  const inverse = f.local('f32', real(0));
  f.if({ type: 'i32', code: [...fEqual(largest, 0).code, 0x45] }, () => f.set(inverse, fDiv(127, largest)));
  const factor = f.local('v128', vSplatF32(inverse));
  const wholes = values.map((value) => f.local('v128', vToInt(vNearest(vMulF32(value, factor)))));
  const pairs = [0, 2, 4, 6].map((i) => f.local('v128', vNarrow32(wholes[i]!, wholes[i + 1]!)));
  if (isRelaxed) {
    f.storeVector(to, vNarrow16(pairs[0]!, pairs[1]!));
    f.storeVector(to, vNarrow16(pairs[2]!, pairs[3]!), 16);
  } else for (const [i, pair] of pairs.entries()) f.storeVector(to, pair, i * 16);
  const halfSum = (first: number): Local<'i32'> => {
    const four = f.local(
      'v128',
      [1, 2, 3].reduce((sum: V128, i) => vAdd32(sum, wholes[first + i]!), wholes[first]!),
    );
    return f.int([1, 2, 3].reduce((sum, lane) => add(sum, vLane(four, lane)), vLane(four, 0)));
  };
  const [left, right] = [halfSum(0), halfSum(4)];
  const meta = recordValueBytes(isRelaxed);
  const scale = f.local('f32', fDiv(largest, 127));
  f.storeF32(to, scale, meta + RECORD.scale);
  f.store(to, mul(add(left, right), -8), meta + RECORD.lessOffset4);
  f.store(to, mul(left, -64), meta + RECORD.lessOffset7);
  f.store(to, mul(right, -64), meta + RECORD.lessOffset7 + 4);
  f.storeF32(to, fMul(scale, fFromInt(add(left, right))), meta + RECORD.sum);
  f.storeF32(to, fMul(scale, fFromInt(left)), meta + RECORD.halfSums);
  f.storeF32(to, fMul(scale, fFromInt(right)), meta + RECORD.halfSums + 4);
}

/** Adds the operation {@link INPUT}: a task is a row. */
export function addInput(module: ModuleWriter, rows: RowFunctions, options: KernelOptions): FunctionReference {
  return module.add(['i32'], (f, op) => {
    const get = INPUT.reader(f, op);
    const task = f.local('i32');
    forTasks(f, op, { total: load(get('rows')), chunk: whole(1), task, options }, () => {
      const row = f.int(task);
      f.if(get('index'), () => f.set(row, load(add(get('index'), mul(task, 4)))));
      const from = f.int(add(get('from'), mul(row, get('fromStride'))));
      const values = f.int(add(get('values'), mul(task, get('valuesStride'))));
      const records = f.int(add(get('records'), mul(task, get('recordsStride'))));
      const cols = f.int(get('cols'));
      f.if(get('up'), () => {
        const up = add(get('up'), mul(row, get('fromStride')));
        f.call(rows.gate, from, up, values, cols, get('activation'));
      });
      f.if(get('gain'), () => f.call(rows.norm, from, get('gain'), values, cols, get.float('eps')));
      f.if(get('records'), () => {
        const padded = { type: 'i32' as const, code: [...add(cols, 31).code, 0x41, 5, 0x76] };
        f.call(rows.quantise, values, records, padded);
      });
    });
  });
}

/** Adds the operation {@link ADD_NORM}: a task is a row. */
export function addAddNorm(module: ModuleWriter, options: KernelOptions): FunctionReference {
  return module.add(['i32'], (f, op) => {
    const get = ADD_NORM.reader(f, op);
    const task = f.local('i32');
    forTasks(f, op, { total: load(get('rows')), chunk: whole(1), task, options }, () => {
      const from = f.int(add(get('from'), mul(task, get('fromStride'))));
      const cols = f.int(get('cols'));
      const scale = normScale(f, from, cols, get.float('eps'));
      f.set(scale, fMul(scale, get.float('scale')));
      const x = f.int(add(get('x'), mul(task, get('xStride'))));
      const gain = f.int(get('gain'));
      const left = f.int(cols);
      f.while(left, () => {
        f.storeVector(x, vAddF32(vLoad(x), vMulF32(vMulF32(vLoad(from), vSplatF32(scale)), vLoad(gain))));
        for (const at of [from, x, gain]) f.set(at, add(at, 16));
        f.set(left, sub(left, 4));
      });
    });
  });
}
