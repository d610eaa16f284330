import {
  add,
  atomicAdd,
  atomicLoad,
  atomicNotify,
  atomicWait,
  equal,
  isZero,
  less,
  load,
  notEqual,
  whole,
  type I32,
} from '../emit/expressions.ts';
import { ModuleWriter, type FunctionReference, type FunctionWriter } from '../emit/module.ts';
import { CONTROL, OPERATION_BYTES, TOGETHER_OFFSET, WASM_FORMATS, type WasmFormat } from '../layout.ts';
import { addAttend, addStoreKv } from './attention.ts';
import { addExponential } from './exponential.ts';
import { addMatmul } from './matmul.ts';
import { addAddNorm, addInput, addRowFunctions } from './norm.ts';
import { COUNTER_OFFSET, type KernelOptions } from './operation.ts';

/** Kinds of operations, by their number in word 0. */
export const KIND = { input: 0, addNorm: 1, storeKv: 2, attend: 3, matmul: 4 } as const;
export const matmulKind = (format: WasmFormat): number => KIND.matmul + WASM_FORMATS.indexOf(format);

/** What the module gives to JavaScript. */
export interface KernelExports {
  /** Runs operations `first` to before `end` on this thread and those that work with it; not 0: a thread did not come back. */
  step(first: number, end: number): number;
  /** Works along with `step` for ever; only in a thread of its own. */
  work?(thread: number, job: number): void;
}

/** Looks at a word so often before it sleeps: some 20 us, so that threads stay awake from one operation to the next. */
const SPINS = 4000;
/** A barrier that takes longer has lost a thread. */
const BARRIER_MS = 20_000;

/**
 * The module of all kernels, as bytes. Its memory holds a program: a list of operations in the order in which they run, each on all threads
 * and with a barrier after it, so that one call does a step.
 */
export function buildKernels(options: KernelOptions): Uint8Array<ArrayBuffer> {
  const module = new ModuleWriter({ isShared: options.isShared });
  const exponential = addExponential(module);
  const rows = addRowFunctions(module, exponential, options);
  const kernels = new Map<number, FunctionReference>([
    [KIND.input, addInput(module, rows, options)],
    [KIND.addNorm, addAddNorm(module, options)],
    [KIND.storeKv, addStoreKv(module, rows.norm, options)],
  ]);
  for (const format of WASM_FORMATS) kernels.set(matmulKind(format), addMatmul(module, format, options));
  const attend = addAttend(module, exponential, options);
  const barrier = options.isShared ? addBarrier(module, options) : undefined;
  const run = module.add(['i32'], (f, thread) => {
    const operation = f.int(load(whole(CONTROL.first)));
    const end = f.int(load(whole(CONTROL.end)));
    f.count(operation, end, OPERATION_BYTES, () => {
      const kind = f.int(load(operation));
      f.if(equal(kind, KIND.attend), () => f.call(attend, operation, thread));
      for (const [number, kernel] of kernels) f.if(equal(kind, number), () => f.call(kernel, operation));
      if (barrier) {
        f.if(isZero(load(operation, TOGETHER_OFFSET)), () => f.call(barrier));
        f.if(atomicLoad(whole(CONTROL.fault)), () => f.return());
      }
    });
  });
  addStep(module, run, options);
  if (options.isShared) addWork(module, run, options);
  return module.bytes();
}

function addStep(module: ModuleWriter, run: FunctionReference, { isShared }: KernelOptions): void {
  module.add(
    ['i32', 'i32'],
    (f, first, end) => {
      f.store(whole(CONTROL.first), first);
      f.store(whole(CONTROL.end), end);
      const operation = f.int(first);
      f.count(operation, end, OPERATION_BYTES, () => f.store(operation, whole(0), COUNTER_OFFSET));
      if (isShared) {
        f.drop(atomicAdd(whole(CONTROL.job), 1));
        f.if(atomicLoad(whole(CONTROL.jobSleepers)), () => f.drop(atomicNotify(whole(CONTROL.job))));
      }
      f.call(run, whole(0));
      f.return(isShared ? atomicLoad(whole(CONTROL.fault)) : whole(0));
    },
    { result: 'i32', exportAs: 'step' },
  );
}

/**
 * Waits until a word is no longer `value`: looks for a while, then sleeps.
 * @param milliseconds longest sleep before it is a fault; -1: any; undefined: the thread may not sleep, and looks on
 */
function awaitChange(
  f: FunctionWriter,
  word: number,
  sleepers: number,
  value: I32,
  milliseconds: number | undefined,
): void {
  if (milliseconds === undefined) {
    f.while(equal(atomicLoad(whole(word)), value), () => undefined);
    return;
  }
  const spins = f.int(0);
  f.while(less(spins, SPINS), () => {
    f.set(spins, add(spins, 1));
    f.if(notEqual(atomicLoad(whole(word)), value), () => f.set(spins, whole(SPINS)));
  });
  f.while(equal(atomicLoad(whole(word)), value), () => {
    f.drop(atomicAdd(whole(sleepers), 1));
    const result = f.int(atomicWait(whole(word), value, 0, milliseconds));
    f.drop(atomicAdd(whole(sleepers), -1));
    if (milliseconds >= 0) {
      f.if(equal(result, 2), () => {
        f.atomicStore(whole(CONTROL.fault), whole(1));
        f.return();
      });
    }
  });
}

/** Comes back once all threads have come. */
function addBarrier(module: ModuleWriter, { mayBlock }: KernelOptions): FunctionReference {
  return module.add([], (f) => {
    const round = f.int(atomicLoad(whole(CONTROL.barrier)));
    const arrived = f.int(add(atomicAdd(whole(CONTROL.arrived), 1), 1));
    f.if(equal(arrived, load(whole(CONTROL.threads))), () => {
      f.atomicStore(whole(CONTROL.arrived), whole(0));
      f.drop(atomicAdd(whole(CONTROL.barrier), 1));
      f.if(atomicLoad(whole(CONTROL.barrierSleepers)), () => f.drop(atomicNotify(whole(CONTROL.barrier))));
      f.return();
    });
    awaitChange(f, CONTROL.barrier, CONTROL.barrierSleepers, round, mayBlock ? BARRIER_MS : undefined);
  });
}

function addWork(module: ModuleWriter, run: FunctionReference, { mayBlock }: KernelOptions): void {
  module.add(
    ['i32', 'i32'],
    (f, thread, seen) => {
      f.while(whole(1), () => {
        awaitChange(f, CONTROL.job, CONTROL.jobSleepers, seen, mayBlock ? -1 : undefined);
        f.set(seen, add(seen, 1));
        f.call(run, thread);
        f.if(atomicLoad(whole(CONTROL.fault)), () => f.return());
      });
    },
    { exportAs: 'work' },
  );
}
