import { add, atomicAdd, fLoad, less, load, select, type F32, type I32 } from '../emit/expressions.ts';
import type { FunctionWriter, Local } from '../emit/module.ts';

/** What a build of the module may use. */
export interface KernelOptions {
  /** Relaxed SIMD, for products of 8-bit numbers. */
  isRelaxed: boolean;
  /** The memory is shared between threads. */
  isShared: boolean;
  /** The calling thread may sleep while it waits for others, which the main thread of a page may not. */
  mayBlock: boolean;
}

/** Word 0 of an operation is its kind, word 1 the number of its tasks that were handed out. */
const COUNTER = 4;
const FIRST_OPERAND = 2;

/** Reads a word of an operation by its name. */
interface Reader<Name extends string> {
  (name: Name): I32;
  float(name: Name): F32;
}

/** The words of a kind of operation. */
export interface Operands<Name extends string> {
  /** Code that reads them. */
  reader(f: FunctionWriter, operation: I32): Reader<Name>;
  /** Writes them; those left out are 0, and a name with `f32:` before it is a float. */
  write(words: DataView, kind: number, values: Readonly<Record<Name, number>>, floats?: readonly Name[]): void;
}

export function operands<const Name extends string>(names: readonly Name[]): Operands<Name> {
  const offset = (name: Name): number => (FIRST_OPERAND + names.indexOf(name)) * 4;
  return {
    reader: (_, operation) =>
      Object.assign((name: Name) => load(operation, offset(name)), {
        float: (name: Name) => fLoad(operation, offset(name)),
      }),
    write(words, kind, values, floats = []) {
      words.setInt32(0, kind, true);
      for (const name of names) {
        if (floats.includes(name)) words.setFloat32(offset(name), values[name], true);
        else words.setInt32(offset(name), values[name], true);
      }
    },
  };
}

/** Runs the body for tasks that this thread takes, a chunk at a time, until all are taken by one thread or another. */
export function forTasks(
  f: FunctionWriter,
  operation: I32,
  { total, chunk, task, options }: { total: I32; chunk: I32; task: Local<'i32'>; options: KernelOptions },
  body: () => void,
): void {
  const all = f.int(total);
  const size = f.int(chunk);
  if (!options.isShared) {
    f.set(task, { type: 'i32', code: [0x41, 0] });
    f.count(task, all, 1, body);
    return;
  }
  const end = f.local('i32');
  f.set(task, atomicAdd(operation, size, COUNTER));
  f.while(less(task, all), () => {
    f.set(end, add(task, size));
    f.set(end, select(less(end, all), end, all));
    f.count(task, end, 1, body);
    f.set(task, atomicAdd(operation, size, COUNTER));
  });
}

/** Sets the counter back. */
export const COUNTER_OFFSET = COUNTER;
