import {
  add,
  divide,
  fAdd,
  fDiv,
  fLoad,
  fMax,
  fMul,
  fSub,
  less,
  load,
  mul,
  real,
  remainder,
  select,
  shl,
  shr,
  sub,
  vAddF32,
  vConst32,
  vLaneF32,
  vLoad,
  vLoadSplat32,
  vMaxF32,
  vMulF32,
  vSplatF32,
  vSubF32,
  whole,
  type F32,
  type I32,
  type V128,
} from '../emit/expressions.ts';
import { callOf, type FunctionReference, type FunctionWriter, type Local, type ModuleWriter } from '../emit/module.ts';
import { CONTROL, KV_BLOCK, ROW_BYTES } from '../layout.ts';
import { forTasks, operands, type KernelOptions } from './operation.ts';

/** Words of the operation that turns queries and keys, and puts keys and values into the KV of a layer. */
export const STORE_KV = operands([
  /** Queries, keys and values of the first row, each f32, and bytes from row to row. */
  'q',
  'k',
  'v',
  'stride',
  'heads',
  'kvHeads',
  'headDim',
  /** [positions, pairs, 2] of cosine and sine; pairs; 1: pairs lie side by side. */
  'rope',
  'pairs',
  'interleaved',
  /** Gains of the norms of each head; 0: none. */
  'qNorm',
  'kNorm',
  'eps',
  'keys',
  'values',
  /** Where the token rows are, and the address of their number. */
  'table',
  'rows',
]);

/** Words of the operation of attention: a task is one head of one row. */
export const ATTEND = operands([
  'q',
  'stride',
  'heads',
  'kvHeads',
  'headDim',
  'scale',
  /** Tokens that a token looks back, itself included; 0: all. */
  'window',
  'keys',
  'values',
  'out',
  'outStride',
  'table',
  'rows',
]);

const BLOCK_SHIFT = Math.log2(KV_BLOCK);
const NEGATIVE_INFINITY = real(-Infinity);

/** Bytes of keys, or values, of one block: [kvHeads, headDim, 32] for keys and [kvHeads, 32, headDim] for values. */
const blockBytes = (kvHeads: I32, headDim: I32): I32 => mul(mul(kvHeads, headDim), KV_BLOCK * 4);

/** Adds the operation {@link STORE_KV}: a task is one head of one row, query heads first. */
export function addStoreKv(module: ModuleWriter, norm: FunctionReference, options: KernelOptions): FunctionReference {
  const rotate = addRotate(module);
  return module.add(['i32'], (f, op) => {
    const get = STORE_KV.reader(f, op);
    const task = f.local('i32');
    const heads = f.int(get('heads'));
    const kvHeads = f.int(get('kvHeads'));
    const headDim = f.int(get('headDim'));
    const perRow = f.int(add(heads, mul(kvHeads, 2)));
    forTasks(f, op, { total: mul(load(get('rows')), perRow), chunk: whole(8), task, options }, () => {
      const row = f.int(divide(task, perRow));
      const head = f.int(remainder(task, perRow));
      const rowAt = f.int(add(get('table'), mul(row, ROW_BYTES)));
      const position = f.int(load(rowAt));
      const turn = f.int(add(get('rope'), mul(mul(position, get('pairs')), 8)));
      const base = f.int(mul(row, get('stride')));
      const at = f.local('i32');
      f.if(
        less(head, heads),
        () => {
          f.set(at, add(add(get('q'), base), mul(mul(head, headDim), 4)));
          f.if(get('qNorm'), () => f.call(norm, at, get('qNorm'), at, headDim, get.float('eps')));
          f.call(rotate, at, turn, get('pairs'), get('interleaved'));
        },
        () => {
          f.set(head, sub(head, heads));
          const block = load(add(load(rowAt, 4), shl(shr(position, BLOCK_SHIFT), 2)));
          const to = f.int(mul(block, blockBytes(kvHeads, headDim)));
          const slot = f.int(remainder(position, KV_BLOCK));
          f.if(
            less(head, kvHeads),
            () => {
              f.set(at, add(add(get('k'), base), mul(mul(head, headDim), 4)));
              f.if(get('kNorm'), () => f.call(norm, at, get('kNorm'), at, headDim, get.float('eps')));
              f.call(rotate, at, turn, get('pairs'), get('interleaved'));
              f.set(to, add(add(to, get('keys')), add(mul(mul(head, headDim), KV_BLOCK * 4), shl(slot, 2))));
              copyFloats(f, at, to, headDim, KV_BLOCK * 4);
            },
            () => {
              f.set(head, sub(head, kvHeads));
              f.set(at, add(add(get('v'), base), mul(mul(head, headDim), 4)));
              const rowOfHead = mul(add(mul(head, KV_BLOCK), slot), mul(headDim, 4));
              f.set(to, add(add(to, get('values')), rowOfHead));
              copyFloats(f, at, to, headDim, 4);
            },
          );
        },
      );
    });
  });
}

function copyFloats(f: FunctionWriter, from: Local<'i32'>, to: Local<'i32'>, count: I32, step: number): void {
  const left = f.int(count);
  f.while(left, () => {
    f.storeF32(to, fLoad(from));
    f.set(from, add(from, 4));
    f.set(to, add(to, step));
    f.set(left, sub(left, 1));
  });
}

/** (head, turns, pairs, interleaved): turns pairs of a head in place. */
function addRotate(module: ModuleWriter): FunctionReference {
  return module.add(['i32', 'i32', 'i32', 'i32'], (f, head, turn, pairs, interleaved) => {
    const apart = f.int(select(interleaved, 4, mul(pairs, 4)));
    const step = f.int(select(interleaved, 8, 4));
    const left = f.int(pairs);
    f.while(left, () => {
      const [x, y] = [f.local('f32', fLoad(head)), f.local('f32', fLoad(add(head, apart)))];
      const [cos, sin] = [f.local('f32', fLoad(turn)), f.local('f32', fLoad(turn, 4))];
      f.storeF32(head, fSub(fMul(x, cos), fMul(y, sin)));
      f.storeF32(add(head, apart), fAdd(fMul(x, sin), fMul(y, cos)));
      f.set(head, add(head, step));
      f.set(turn, add(turn, 8));
      f.set(left, sub(left, 1));
    });
  });
}

/** Adds the operation {@link ATTEND}. Sums go over tokens in their order, so that they do not depend on chunks, threads or the batch. */
export function addAttend(
  module: ModuleWriter,
  exponential: FunctionReference,
  options: KernelOptions,
): FunctionReference {
  return module.add(['i32', 'i32'], (f, op, thread) => {
    const get = ATTEND.reader(f, op);
    const heads = f.int(get('heads'));
    const headDim = f.int(get('headDim'));
    const headBytes = f.int(mul(headDim, 4));
    const bytes = f.int(blockBytes(get('kvHeads'), headDim));
    const scratch = f.int(add(load(whole(CONTROL.scratch)), mul(thread, load(whole(CONTROL.scratchBytes)))));
    const task = f.local('i32');
    forTasks(f, op, { total: mul(load(get('rows')), heads), chunk: whole(1), task, options }, () => {
      const row = f.int(divide(task, heads));
      const head = f.int(remainder(task, heads));
      const rowAt = f.int(add(get('table'), mul(row, ROW_BYTES)));
      const end = f.int(add(load(rowAt), 1));
      const window = f.int(get('window'));
      const start = f.int(0);
      f.if(window, () => f.set(start, select(less(window, end), sub(end, window), 0)));
      const blocks = f.int(load(rowAt, 4));
      const kvHead = divide(mul(head, get('kvHeads')), heads);
      const headAt = f.int(mul(mul(kvHead, headBytes), KV_BLOCK));
      const q = f.int(add(add(get('q'), mul(row, get('stride'))), mul(head, headBytes)));
      const span: Span = { f, start, end, blocks, scratch, headDim, headBytes, bytes };
      scoreKeys(span, q, add(get('keys'), headAt), get.float('scale'));
      const total = shares(span, exponential);
      const out = add(add(get('out'), mul(row, get('outStride'))), mul(head, headBytes));
      mixValues(span, add(get('values'), headAt), out, total);
    });
  });
}

/** Tokens from `start` to before `end` of a sequence, and where their scores go: that of token t at scratch + 4 t. */
interface Span {
  f: FunctionWriter;
  start: Local<'i32'>;
  end: Local<'i32'>;
  blocks: I32;
  scratch: I32;
  headDim: I32;
  headBytes: I32;
  /** Of a KV block, keys or values. */
  bytes: I32;
}

const blockAt = (base: I32, { blocks, bytes }: Span, block: I32): I32 =>
  add(base, mul(load(add(blocks, shl(block, 2))), bytes));

/** Scores of all tokens, whole blocks at a time; outside of the span they are -Infinity. */
function scoreKeys(span: Span, query: I32, keys: I32, scale: F32): void {
  const { f, start, end, scratch, headDim } = span;
  const block = f.int(shr(start, BLOCK_SHIFT));
  const blocksEnd = f.int(shr(add(end, KV_BLOCK - 1), BLOCK_SHIFT));
  const sums = Array.from({ length: KV_BLOCK / 4 }, () => f.local('v128'));
  const base = f.int(keys);
  const factor = f.local('v128', vSplatF32(scale));
  const [at, q, left, element] = [f.local('i32'), f.local('i32'), f.local('i32'), f.local('v128')];
  f.count(block, blocksEnd, 1, () => {
    f.set(at, blockAt(base, span, block));
    f.set(q, query);
    for (const sum of sums) f.set(sum, vConst32(0));
    f.set(left, headDim);
    f.while(left, () => {
      f.set(element, vLoadSplat32(q));
      for (const [i, sum] of sums.entries()) f.set(sum, vAddF32(sum, vMulF32(element, vLoad(at, i * 16))));
      f.set(at, add(at, KV_BLOCK * 4));
      f.set(q, add(q, 4));
      f.set(left, sub(left, 1));
    });
    f.set(at, add(scratch, shl(block, BLOCK_SHIFT + 2)));
    for (const [i, sum] of sums.entries()) f.storeVector(at, vMulF32(sum, factor), i * 16);
  });
  const token = f.int(shl(shr(start, BLOCK_SHIFT), BLOCK_SHIFT));
  f.count(token, start, 1, () => f.storeF32(add(scratch, shl(token, 2)), NEGATIVE_INFINITY));
  f.set(token, end);
  f.count(token, shl(blocksEnd, BLOCK_SHIFT), 1, () => f.storeF32(add(scratch, shl(token, 2)), NEGATIVE_INFINITY));
}

/** Scores become e^(score - most). @returns their sum */
function shares({ f, start, end, scratch }: Span, exponential: FunctionReference): F32 {
  const first = f.int(add(scratch, shl(shr(start, BLOCK_SHIFT), BLOCK_SHIFT + 2)));
  const last = f.int(add(scratch, shl(shr(add(end, KV_BLOCK - 1), BLOCK_SHIFT), BLOCK_SHIFT + 2)));
  const most = f.local('v128', vSplatF32(NEGATIVE_INFINITY));
  const at = f.int(first);
  f.count(at, last, 16, () => f.set(most, vMaxF32(most, vLoad(at))));
  f.set(most, vSplatF32(acrossLanes(most, fMax)));
  const sum = f.local('v128', vConst32(0));
  f.set(at, first);
  f.count(at, last, 16, () => {
    const share = f.local('v128', callOf('v128', exponential, vSubF32(vLoad(at), most)));
    f.storeVector(at, share);
    f.set(sum, vAddF32(sum, share));
  });
  return f.local('f32', acrossLanes(sum, fAdd));
}

const acrossLanes = (value: V128, combine: (a: F32, b: F32) => F32): F32 =>
  [1, 2, 3].reduce((sum: F32, lane) => combine(sum, vLaneF32(value, lane)), vLaneF32(value, 0));

/** The mean of values, weighted with the shares. */
function mixValues(span: Span, values: I32, out: I32, total: F32): void {
  const { f, headBytes } = span;
  const inverse = f.local('v128', vSplatF32(fDiv(1, total)));
  const offset = f.int(0);
  const base = f.int(values);
  const to = f.int(out);
  const rest = (least: number): I32 => less(add(offset, least - 1), headBytes);
  for (const vectors of [8, 2])
    f.while(rest(vectors * 16), () => {
      mixColumns(span, { vectors, base, offset, to, inverse });
      f.set(offset, add(offset, vectors * 16));
    });
}

function mixColumns(
  span: Span,
  { vectors, base, offset, to, inverse }: { vectors: number; base: I32; offset: I32; to: I32; inverse: V128 },
): void {
  const { f, start, end, scratch, headBytes } = span;
  const sums = Array.from({ length: vectors }, () => f.local('v128', vConst32(0)));
  const token = f.int(start);
  const [at, stop, share] = [f.local('i32'), f.local('i32'), f.local('v128')];
  f.while(less(token, end), () => {
    f.set(at, add(blockAt(base, span, shr(token, BLOCK_SHIFT)), offset));
    f.set(at, add(at, mul(remainder(token, KV_BLOCK), headBytes)));
    f.set(stop, shl(add(shr(token, BLOCK_SHIFT), 1), BLOCK_SHIFT));
    f.set(stop, select(less(stop, end), stop, end));
    f.count(token, stop, 1, () => {
      f.set(share, vLoadSplat32(add(scratch, shl(token, 2))));
      for (const [i, sum] of sums.entries()) f.set(sum, vAddF32(sum, vMulF32(share, vLoad(at, i * 16))));
      f.set(at, add(at, headBytes));
    });
  });
  for (const [i, sum] of sums.entries()) f.storeVector(add(to, offset), vMulF32(sum, inverse), i * 16);
}
