import { TokenglassError } from '../../../shared/errors.ts';
import type { ModelConfig } from '../../models/architectures/model-config.ts';
import type { CheckedRow } from '../check-rows.ts';
import type { BlockTables } from '../kv/sequences.ts';
import type { KernelExports } from './kernels/build.ts';
import { CONTROL, ROW_BYTES } from './layout.ts';
import type { WasmPlan } from './plan.ts';
import type { Program } from './program.ts';
import { readRow, type MemoryViews } from './weights.ts';

/** A step in memory, ready to run. */
export interface PackedStep {
  /** Tokens that each token row attends to. */
  contexts: readonly number[];
  /** Of each row given: its sequence's length before, and the row of logits of its first sample. */
  starts: readonly number[];
  samples: readonly number[];
  sampleCount: number;
}

/** A step gives others their turn on this thread after so long, so that an abort is heard. */
const TURN_MS = 25;

/** Puts steps into memory and runs the program on them. */
export class StepRunner implements BlockTables {
  readonly #plan: WasmPlan;
  readonly #program: Program;
  readonly #kernels: KernelExports;
  readonly #views: MemoryViews;
  readonly #factor: number;
  readonly #logits: readonly Float32Array[];

  constructor(
    plan: WasmPlan,
    program: Program,
    kernels: KernelExports,
    views: MemoryViews,
    { embeddingScale, vocabSize }: ModelConfig,
  ) {
    this.#plan = plan;
    this.#program = program;
    this.#kernels = kernels;
    this.#views = views;
    this.#factor = embeddingScale;
    const { at, stride } = plan.logits;
    this.#logits = Array.from({ length: plan.maxSamples }, (_, row) => {
      const first = (at + row * stride) / 4;
      return views.floats.subarray(first, first + vocabSize);
    });
  }

  setBlock(slot: number, index: number, block: number): void {
    this.#views.ints[this.#plan.blockTables / 4 + slot * this.#plan.maxBlocks + index] = block;
  }

  /** Logits of the latest step. */
  logits(row: number): Float32Array {
    return this.#logits[row]!;
  }

  /** @param latest the token that a slot has sampled last */
  pack(rows: readonly CheckedRow[], latest: (slot: number) => number): PackedStep {
    const { ints } = this.#views;
    const { table, index, blockTables, maxBlocks, x, embedding } = this.#plan;
    const contexts: number[] = [];
    const samples: number[] = [];
    let sampleCount = 0;
    for (const { row, sequence, count } of rows) {
      samples.push(sampleCount);
      for (let i = 0; i < count; i++) {
        const at = contexts.length;
        const token = row.input === 'previous' ? latest(sequence.slot) : row.input[i]!;
        const position = sequence.length + i;
        ints[(table + at * ROW_BYTES) / 4] = position;
        ints[(table + at * ROW_BYTES) / 4 + 1] = blockTables + sequence.slot * maxBlocks * 4;
        readRow(this.#views, embedding, token, { to: (x.at + at * x.stride) / 4, factor: this.#factor });
        if (row.sample === 'each' || (row.sample && i === count - 1)) ints[index / 4 + sampleCount++] = at;
        contexts.push(position + 1);
      }
    }
    ints[CONTROL.rows / 4] = contexts.length;
    ints[CONTROL.samples / 4] = sampleCount;
    return { contexts, starts: rows.map(({ sequence }) => sequence.length), samples, sampleCount };
  }

  /** @throws TokenglassError `worker-dead` if a thread did not come back */
  async run({ sampleCount, contexts }: PackedStep): Promise<void> {
    const { ends, layersEnd } = this.#program;
    const last = sampleCount > 0 ? ends.length - 1 : layersEnd;
    let first = this.#plan.program;
    // A step of one token a sequence is short, and runs in one go.
    if (contexts.length <= 1) {
      this.#step(first, ends[last]!);
      return;
    }
    let turnEnds = performance.now() + TURN_MS;
    for (let part = 0; part <= last; part++) {
      this.#step(first, ends[part]!);
      first = ends[part]!;
      if (part === last || performance.now() < turnEnds) continue;
      await nextTurn();
      turnEnds = performance.now() + TURN_MS;
    }
  }

  #step(first: number, end: number): void {
    if (this.#kernels.step(first, end) === 0) return;
    throw new TokenglassError(
      'worker-dead',
      'Cannot go on: a thread of the CPU engine did not come back; load the model again',
    );
  }
}

/** Resolves after what waits for this thread had its turn; unlike a timer, at once if nothing does. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
