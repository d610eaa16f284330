import type { Block } from '../../blocks/block.ts';
import { ropeKey } from '../../blocks/attention/rope-tables.ts';
import type { ModelDescription } from '../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { ATTEND, STORE_KV } from './kernels/attention.ts';
import { KIND, matmulKind } from './kernels/build.ts';
import { MATMUL } from './kernels/matmul.ts';
import { ADD_NORM, INPUT } from './kernels/norm.ts';
import { CONTROL, FORMATS, OPERATION_BYTES, recordBytes, TASK_ROWS, TOGETHER_OFFSET, align } from './layout.ts';
import type { WasmPlan } from './plan.ts';
import type { WasmMatrix } from './weights.ts';

/** Tasks of eight rows that a thread takes at a time: some hundred thousand multiply-adds, so that handing out costs little. */
const CHUNK_WEIGHTS = 64 * 1024;

/** Where rows of numbers begin, and bytes from one to the next. */
export interface Rows {
  at: number;
  stride: number;
}

/** Operations of a step, in the order in which they run; addresses are those of the plan. */
export interface Program {
  /** Ends of what may run in one go: after each block and after the logits. A long step lets others have their turn between two of them. */
  ends: readonly number[];
  /** Index in `ends` of the last one before the logits. */
  layersEnd: number;
}

type Write = (at: DataView) => void;

/** Writes the operations of a model's step into memory. */
export function writeProgram(memory: ArrayBufferLike, description: ModelDescription, plan: WasmPlan): Program {
  const writer = new ProgramWriter(description, plan);
  const ends: number[] = [];
  const operations = description.layers.flatMap(({ blocks }) => blocks);
  for (const [index, block] of operations.entries()) {
    writer.block(block, index);
    ends.push(writer.count);
  }
  writer.logits();
  ends.push(writer.count);
  if (writer.count > plan.mostOperations) throw new RangeError(`The program has ${writer.count} operations`);
  for (const [index, write] of writer.operations.entries())
    write(new DataView(memory, plan.program + index * OPERATION_BYTES, OPERATION_BYTES));
  return { ends: ends.map((end) => plan.program + end * OPERATION_BYTES), layersEnd: operations.length - 1 };
}

class ProgramWriter {
  readonly operations: Write[] = [];
  readonly #description: ModelDescription;
  readonly #plan: WasmPlan;

  constructor(description: ModelDescription, plan: WasmPlan) {
    this.#description = description;
    this.#plan = plan;
  }

  get count(): number {
    return this.operations.length;
  }

  block(block: Block, index: number): void {
    const { x, normed } = this.#plan;
    const { hiddenSize, normEps } = this.#description.config;
    const { norm } = block.weights;
    this.#input({ from: x, values: norm ? normed : x, gain: norm, cols: hiddenSize, eps: normEps });
    if (block.kind === 'attention') this.#attention(block, index);
    else if (block.kind === 'dense') this.#dense(block);
    else throw new TypeError(`Cannot run a block of the kind ${block.kind}: checkShapes refuses it`);
  }

  logits(): void {
    const { x, finalNormed, logits, index, output } = this.#plan;
    const { config, weights } = this.#description;
    this.#input({
      from: x,
      values: finalNormed,
      gain: weights.outputNorm,
      cols: config.hiddenSize,
      eps: config.normEps,
      rows: CONTROL.samples,
      index,
    });
    this.#matmul(output, finalNormed, logits, { rows: CONTROL.samples, scale: config.logitScale });
  }

  #attention({ config, weights }: Block<GgufTensorInfo, 'attention'>, index: number): void {
    const { heads, kvHeads, headDim, rope, window = 0, scale } = config;
    const plan = this.#plan;
    const { normed, x, mixed, table } = plan;
    const source = weights.norm ? normed : x;
    const q = plan.projected;
    const part = (rows: number): Rows => ({ at: q.at + rows * 4, stride: q.stride });
    const [k, v] = [part(heads * headDim), part((heads + kvHeads) * headDim)];
    if (weights.qkv) this.#matmul(this.#matrix(weights.qkv), source, q);
    else {
      this.#matmul(this.#matrix(weights.q!), source, q, { bias: weights.qBias, together: true });
      this.#matmul(this.#matrix(weights.k!), source, k, { bias: weights.kBias, together: true });
      this.#matmul(this.#matrix(weights.v!), source, v, { bias: weights.vBias });
    }
    const { keys, values } = plan.kv.get(index)!;
    const common = { stride: q.stride, heads, kvHeads, headDim, keys, values, table, rows: CONTROL.rows };
    this.#add((at) =>
      STORE_KV.write(
        at,
        KIND.storeKv,
        {
          ...common,
          q: q.at,
          k: k.at,
          v: v.at,
          // Without rotation there are no pairs.
          rope: rope ? plan.ropes.get(ropeKey(rope))! : 0,
          pairs: rope ? rope.dims / 2 : 0,
          interleaved: rope?.style === 'interleaved' ? 1 : 0,
          qNorm: this.#vector(weights.qNorm),
          kNorm: this.#vector(weights.kNorm),
          eps: this.#description.config.normEps,
        },
        ['eps'],
      ),
    );
    this.#add((at) =>
      ATTEND.write(at, KIND.attend, { ...common, q: q.at, scale, window, out: mixed.at, outStride: mixed.stride }, [
        'scale',
      ]),
    );
    this.#input({ from: mixed, values: mixed, gain: undefined, cols: heads * headDim, eps: 0 });
    this.#addToResidual(this.#matrix(weights.output), mixed, config.branch, weights.postNorm);
  }

  #dense({ config, weights }: Block<GgufTensorInfo, 'dense'>): void {
    const { size, activation, branch } = config;
    const { normed, x, inner, gated } = this.#plan;
    const source = weights.norm ? normed : x;
    const up = { at: inner.at + (weights.gateUp ? size : align(size, TASK_ROWS)) * 4, stride: inner.stride };
    if (weights.gateUp) this.#matmul(this.#matrix(weights.gateUp), source, inner);
    else {
      this.#matmul(this.#matrix(weights.gate!), source, inner, { together: true });
      this.#matmul(this.#matrix(weights.up!), source, up);
    }
    this.#input({ from: inner, values: gated, gain: undefined, cols: size, eps: 0, up: up.at, activation });
    this.#addToResidual(this.#matrix(weights.down), gated, branch, weights.postNorm);
  }

  /** x += scale * matrix times `from`, with a norm between if there is one. */
  #addToResidual(
    matrix: WasmMatrix,
    from: Rows,
    { scale }: { scale: number },
    postNorm: GgufTensorInfo | undefined,
  ): void {
    const { x, given } = this.#plan;
    if (!postNorm) {
      this.#matmul(matrix, from, x, { accumulate: true, scale });
      return;
    }
    this.#matmul(matrix, from, given);
    const { hiddenSize: cols, normEps: eps } = this.#description.config;
    const gain = this.#vector(postNorm);
    this.#add((at) =>
      ADD_NORM.write(
        at,
        KIND.addNorm,
        {
          ...{ from: given.at, fromStride: given.stride, x: x.at, xStride: x.stride },
          ...{ gain, eps, cols, scale, rows: CONTROL.rows },
        },
        ['eps', 'scale'],
      ),
    );
  }

  #input(input: {
    from: Rows;
    values: Rows;
    gain: GgufTensorInfo | undefined;
    cols: number;
    eps: number;
    up?: number;
    activation?: 'silu' | 'gelu-tanh';
    rows?: number;
    index?: number;
  }): void {
    const { from, values, gain, cols, eps, up = 0, activation, rows = CONTROL.rows, index = 0 } = input;
    const { records } = this.#plan;
    this.#add((at) =>
      INPUT.write(
        at,
        KIND.input,
        {
          ...{ from: from.at, fromStride: from.stride, up, activation: activation === 'gelu-tanh' ? 1 : 0 },
          ...{ gain: this.#vector(gain), eps, cols, values: values.at, valuesStride: values.stride },
          ...{ records: records.at, recordsStride: records.stride, rows, index },
        },
        ['eps'],
      ),
    );
  }

  #matmul(
    matrix: WasmMatrix,
    from: Rows,
    to: Rows,
    options: {
      bias?: GgufTensorInfo | undefined;
      accumulate?: boolean;
      scale?: number;
      rows?: number;
      together?: boolean;
    } = {},
  ): void {
    const { accumulate = false, scale = 1, rows = CONTROL.rows, together = false } = options;
    const x = FORMATS[matrix.format].group === 0 ? from : this.#plan.records;
    const tasks = align(matrix.rows, TASK_ROWS) / TASK_ROWS;
    const perThread = Math.max(1, Math.floor(tasks / this.#plan.threads / 2));
    const chunk = Math.min(perThread, Math.max(1, Math.floor(CHUNK_WEIGHTS / (matrix.cols * TASK_ROWS))));
    this.#add((at) => {
      MATMUL.write(
        at,
        matmulKind(matrix.format),
        {
          ...{ weights: matrix.address, groupBytes: matrix.groupBytes, tasks, records: align(matrix.cols, 32) / 32 },
          ...{ x: x.at, xStride: x.stride, y: to.at, yStride: to.stride, bias: this.#vector(options.bias) },
          ...{ accumulate: accumulate ? 1 : 0, scale, rows, chunk },
        },
        ['scale'],
      );
      at.setInt32(TOGETHER_OFFSET, together ? 1 : 0, true);
    });
  }

  #add(write: Write): void {
    this.operations.push(write);
  }

  #matrix(tensor: GgufTensorInfo): WasmMatrix {
    return this.#plan.matrices.get(tensor)!;
  }

  #vector(tensor: GgufTensorInfo | undefined): number {
    return tensor === undefined ? 0 : this.#plan.vectors.get(tensor)!;
  }
}

/** Bytes of a row of records that holds `cols` numbers. */
export const recordsStride = (cols: number, isRelaxed: boolean): number =>
  (align(cols, 32) / 32) * recordBytes(isRelaxed);
