import { leb, whole, type Expression, type F32, type I32, type V128, type ValueType } from './expressions.ts';
import { add, less } from './expressions.ts';

const TYPE_BYTES: Readonly<Record<ValueType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, v128: 0x7b };
const ATOMIC_FENCED_STORE = [0xfe, 0x17, 2];

/** A local variable of a function: reading it is an expression. */
export interface Local<T extends ValueType> extends Expression<T> {
  readonly index: number;
}

/** A function of a module, for calls. */
export interface FunctionReference {
  readonly index: number;
  readonly result: ValueType | undefined;
}

/** Writes the body of one function, statement by statement. */
export class FunctionWriter {
  readonly code: number[] = [];
  readonly #types: ValueType[];
  readonly #params: number;

  constructor(params: readonly ValueType[]) {
    this.#types = [...params];
    this.#params = params.length;
  }

  get params(): readonly ValueType[] {
    return this.#types.slice(0, this.#params);
  }

  get locals(): readonly ValueType[] {
    return this.#types.slice(this.#params);
  }

  param<T extends ValueType>(type: T, index: number): Local<T> {
    return { type, index, code: [0x20, ...leb(index)] };
  }

  /** A new variable; with the value, if one is given. */
  local<T extends ValueType>(type: T, value?: Expression<T>): Local<T> {
    const index = this.#types.push(type) - 1;
    const made = this.param(type, index);
    if (value) this.set(made, value);
    return made;
  }

  int(value: I32 | number): Local<'i32'> {
    return this.local('i32', whole(value));
  }

  set<T extends ValueType>({ index }: Local<T>, { code }: Expression<T>): void {
    this.code.push(...code, 0x21, ...leb(index));
  }

  store(at: I32, value: I32, offset = 0): void {
    this.code.push(...at.code, ...value.code, 0x36, 0, ...leb(offset));
  }

  storeF32(at: I32, value: F32, offset = 0): void {
    this.code.push(...at.code, ...value.code, 0x38, 0, ...leb(offset));
  }

  storeVector(at: I32, value: V128, offset = 0): void {
    this.code.push(...at.code, ...value.code, 0xfd, 0x0b, 0, ...leb(offset));
  }

  /** Stores one 32-bit lane, or two of them as one of 64. */
  storeLane(at: I32, value: V128, bits: 32 | 64, lane: number, offset = 0): void {
    this.code.push(...at.code, ...value.code, 0xfd, bits === 32 ? 0x5a : 0x5b, 0, ...leb(offset), lane);
  }

  atomicStore(at: I32, value: I32, offset = 0): void {
    this.code.push(...at.code, ...value.code, ...ATOMIC_FENCED_STORE, ...leb(offset));
  }

  drop({ code }: Expression<ValueType>): void {
    this.code.push(...code, 0x1a);
  }

  return(value?: Expression<ValueType>): void {
    this.code.push(...(value?.code ?? []), 0x0f);
  }

  call({ index }: FunctionReference, ...given: Expression<ValueType>[]): void {
    this.code.push(...given.flatMap(({ code }) => code), 0x10, ...leb(index));
  }

  if(condition: I32, then: () => void, otherwise?: () => void): void {
    this.code.push(...condition.code, 0x04, 0x40);
    then();
    if (otherwise) {
      this.code.push(0x05);
      otherwise();
    }
    this.code.push(0x0b);
  }

  /** Runs the body as long as the condition holds at its begin. */
  while(condition: I32, body: () => void): void {
    this.code.push(0x02, 0x40, 0x03, 0x40, ...condition.code, 0x45, 0x0d, 1);
    body();
    this.code.push(0x0c, 0, 0x0b, 0x0b);
  }

  /** Counts a variable from where it is to before `end`. */
  count(variable: Local<'i32'>, end: I32, step: number, body: () => void): void {
    this.while(less(variable, end), () => {
      body();
      this.set(variable, add(variable, step));
    });
  }
}

interface FunctionCode {
  writer: FunctionWriter;
  result: ValueType | undefined;
  exportAs: string | undefined;
}

/** The value that a call gives. */
export function callOf<T extends ValueType>(
  type: T,
  { index }: FunctionReference,
  ...given: Expression<ValueType>[]
): Expression<T> {
  return { type, code: [...given.flatMap(({ code }) => code), 0x10, ...leb(index)] };
}

/** Collects functions and writes them as the bytes of a WebAssembly module, which imports one memory as `env.memory`. */
export class ModuleWriter {
  readonly #functions: FunctionCode[] = [];
  readonly #isShared: boolean;

  constructor({ isShared }: { isShared: boolean }) {
    this.#isShared = isShared;
  }

  /** Adds a function; its body may call those added before. */
  add<const P extends readonly ValueType[]>(
    params: P,
    body: (writer: FunctionWriter, ...given: { -readonly [K in keyof P]: Local<P[K]> }) => void,
    { result, exportAs }: { result?: ValueType; exportAs?: string } = {},
  ): FunctionReference {
    const writer = new FunctionWriter(params);
    body(writer, ...(params.map((type, i) => writer.param(type, i)) as { -readonly [K in keyof P]: Local<P[K]> }));
    this.#functions.push({ writer, result, exportAs });
    return { index: this.#functions.length - 1, result };
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const functions = this.#functions;
    const types = functions.map(({ writer, result }) => [
      0x60,
      ...vector(writer.params.map((type) => [TYPE_BYTES[type]])),
      ...vector(result ? [[TYPE_BYTES[result]]] : []),
    ]);
    const limits = this.#isShared ? [0x03, 1, ...leb(65_536)] : [0x00, 1];
    const bodies = functions.map(({ writer }) => {
      const body = [...vector(writer.locals.map((type) => [1, TYPE_BYTES[type]])), ...writer.code, 0x0b];
      return [...leb(body.length), ...body];
    });
    const exported = functions.flatMap(({ exportAs }, index) =>
      exportAs === undefined ? [] : [[...name(exportAs), 0x00, ...leb(index)]],
    );
    return Uint8Array.from([
      ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, vector(types)),
      ...section(2, vector([[...name('env'), ...name('memory'), 0x02, ...limits]])),
      ...section(3, vector(functions.map((_, index) => leb(index)))),
      ...section(7, vector(exported)),
      ...section(10, vector(bodies)),
    ]);
  }
}

const vector = (items: readonly (readonly number[])[]): number[] => leb(items.length).concat(...items);
const section = (id: number, content: readonly number[]): number[] => [id, ...leb(content.length), ...content];
const name = (text: string): number[] => vector([...new TextEncoder().encode(text)].map((byte) => [byte]));
