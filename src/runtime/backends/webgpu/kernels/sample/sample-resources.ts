import { GPU_COPY_DST, GPU_COPY_SRC, GPU_STORAGE, type GpuMemory } from '../../memory.ts';
import type { Kernel, KernelCompiler } from '../pipeline.ts';
import { composeShader } from '../template.ts';
import countEditsCode from './count-edits.wgsl?raw';
import { EDIT_HEADER_WORDS, EDIT_TOKENS, PARAM_WORDS, RECORD_WORDS, STEP_WORDS } from './layout.ts';
import commonCode from './sample-common.wgsl?raw';
import finalCode from './sample-final.wgsl?raw';
import partialCode from './sample-partial.wgsl?raw';

export interface SampleKernelOptions {
  vocabSize: number;
  /** Rows of logits of one step, at most. */
  maxRows: number;
  /** Sequences open at once, at most. */
  maxSlots: number;
  /** Tokens of one sequence, at most (the context). */
  maxTokens: number;
  /** [maxRows, logitsStride] f32, with usage STORAGE. */
  logits: GPUBuffer;
  /** Words from one row of logits to the next. @default vocabSize */
  logitsStride?: number;
  /**
   * Where the step rows are (maxRows * 16 bytes, written with `packStepRow`), for a plan that uploads all of a step at once.
   * @default a buffer of its own, written by `writeRows`
   */
  steps?: { buffer: GPUBuffer; offset: number };
  /** Entries of a sequence's logit bias, at most. @default 1024 */
  biasCapacity?: number;
}

/** `greedy`: for steps whose rows all are greedy; what only sampled rows need is compiled away. Both are two dispatches. */
export type SampleVariant = 'greedy' | 'full';

/** Invocations of count-edits. */
export const EDIT_WORKGROUP = 256;
/** Tokens that sample-final ranks at once: more than top-k and the top list usually leave, and little to compile. */
const LIST_CAPACITY = 128;

/** Sizes in words, of which the shaders have the same. */
export interface SampleShape {
  /** Invocations of sample-partial: small workgroups, since a block is little work beside its reductions. */
  partialWorkgroup: number;
  /** Invocations of sample-final, which is one workgroup a row and takes one partial each. */
  finalWorkgroup: number;
  block: number;
  blocks: number;
  maskOffset: number;
  historyOffset: number;
  stateStride: number;
  biasCapacity: number;
  logitsStride: number;
}

export function sampleShape(options: SampleKernelOptions): SampleShape {
  const { vocabSize, maxTokens, biasCapacity = 1024, logitsStride = vocabSize } = options;
  const isSmall = vocabSize <= 16_384;
  const partialWorkgroup = 64;
  const finalWorkgroup = isSmall ? 64 : 256;
  // No more blocks than sample-final has invocations.
  const perInvocation = Math.max(isSmall ? 8 : 16, Math.ceil(vocabSize / (partialWorkgroup * finalWorkgroup)));
  const block = perInvocation * partialWorkgroup;
  const historyOffset = vocabSize + Math.ceil(vocabSize / 32);
  return {
    partialWorkgroup,
    finalWorkgroup,
    block,
    blocks: Math.ceil(vocabSize / block),
    maskOffset: vocabSize,
    historyOffset,
    stateStride: historyOffset + maxTokens,
    biasCapacity,
    logitsStride,
  };
}

export interface SampleBuffers {
  slotParams: GPUBuffer;
  /** Absent if the plan gave its own. */
  steps: GPUBuffer | undefined;
  state: GPUBuffer;
  tokens: GPUBuffer;
  adjusted: GPUBuffer;
  partials: GPUBuffer;
  records: GPUBuffer;
  edit: GPUBuffer;
}

export function createSampleBuffers(
  memory: GpuMemory,
  options: SampleKernelOptions,
  shape: SampleShape,
): SampleBuffers {
  const { maxRows, maxSlots, vocabSize } = options;
  const make = (label: string, words: number, usage: number): GPUBuffer =>
    memory.create(`sample ${label}`, words * 4, { usage: GPU_STORAGE | usage });
  return {
    // [slots, PARAM_WORDS + 2 * biasCapacity] u32 and f32
    slotParams: make('slot params', maxSlots * (PARAM_WORDS + 2 * shape.biasCapacity), GPU_COPY_DST),
    // [rows, STEP_WORDS] u32
    steps: options.steps === undefined ? make('steps', maxRows * STEP_WORDS, GPU_COPY_DST) : undefined,
    // [slots, counts + mask + history] u32
    state: make('state', maxSlots * shape.stateStride, GPU_COPY_DST | GPU_COPY_SRC),
    // [slots] u32
    tokens: make('tokens', maxSlots, GPU_COPY_DST | GPU_COPY_SRC),
    // [rows, vocab] f32
    adjusted: make('adjusted logits', maxRows * vocabSize, 0),
    // [rows, blocks, 8] u32 and f32
    partials: make('partials', maxRows * shape.blocks * 8, 0),
    // [rows, RECORD_WORDS] u32 and f32
    records: make('records', maxRows * RECORD_WORDS, GPU_COPY_SRC),
    // header and token words
    edit: make('edit', EDIT_HEADER_WORDS + EDIT_TOKENS, GPU_COPY_DST),
  };
}

export interface SamplePipelines {
  partial: Record<SampleVariant, Kernel>;
  final: Record<SampleVariant, Kernel>;
  edit: Kernel;
}

export async function compileSamplePipelines(
  compiler: KernelCompiler,
  vocabSize: number,
  shape: SampleShape,
): Promise<SamplePipelines> {
  const stage = (label: string, file: string, access: string, variant: SampleVariant): Promise<Kernel> =>
    compiler.compile({
      label: `${label} ${variant}`,
      code: composeShader(
        {
          WORKGROUP: file === finalCode ? shape.finalWorkgroup : shape.partialWorkgroup,
          LIST: file === finalCode ? LIST_CAPACITY : 0,
          VOCAB: vocabSize,
          BLOCK: shape.block,
          BLOCKS: shape.blocks,
          LOGITS_STRIDE: shape.logitsStride,
          BIAS_CAPACITY: shape.biasCapacity,
          STATE_STRIDE: shape.stateStride,
          MASK_OFFSET: shape.maskOffset,
          HISTORY_OFFSET: shape.historyOffset,
          GREEDY_ONLY: variant === 'greedy',
        },
        commonCode,
        file,
      ),
      bindings: bindings(access),
    });
  const [partialGreedy, partialFull, finalGreedy, finalFull, edit] = await Promise.all([
    stage('sample-partial', partialCode, 'rrrrrww', 'greedy'),
    stage('sample-partial', partialCode, 'rrrrrww', 'full'),
    stage('sample-final', finalCode, 'rrrwwrrw', 'greedy'),
    stage('sample-final', finalCode, 'rrrwwrrw', 'full'),
    compiler.compile({
      label: 'count-edits',
      code: composeShader({ STATE_STRIDE: shape.stateStride, HISTORY_OFFSET: shape.historyOffset }, countEditsCode),
      bindings: bindings('wr'),
    }),
  ]);
  return {
    partial: { greedy: partialGreedy, full: partialFull },
    final: { greedy: finalGreedy, full: finalFull },
    edit,
  };
}

/** A letter for each binding in order: read or write. */
function bindings(letters: string): Record<number, 'read' | 'write'> {
  return Object.fromEntries(Array.from(letters, (letter, i) => [i, letter === 'r' ? 'read' : 'write'] as const));
}
