import type { SamplingParams } from '../../../../../shared/generation.ts';
import { checkMask } from '../../../check-mask.ts';
import { MAX_TOP_LOGPROBS, resolveSampling } from '../../../sampling/definition.ts';
import type { GpuMemory } from '../../memory.ts';
import type { Kernel, KernelCompiler } from '../pipeline.ts';
import {
  EDIT_HEADER_WORDS,
  EDIT_TOKENS,
  RECORD_WORDS,
  STEP_WORDS,
  packSlotParams,
  packStepRow,
  type SampleRow,
} from './layout.ts';
import {
  EDIT_WORKGROUP,
  compileSamplePipelines,
  createSampleBuffers,
  sampleShape,
  type SampleBuffers,
  type SampleKernelOptions,
  type SamplePipelines,
  type SampleShape,
  type SampleVariant,
} from './sample-resources.ts';

export type { SampleKernelOptions, SampleVariant } from './sample-resources.ts';

/**
 * Sampling on the GPU for a batch of rows: two dispatches a step, nothing made per token, no token known to the CPU.
 *
 * A slot holds a sequence's parameters, counts and latest token; a row of a step names its slot. All methods act in queue order. Submits
 * of their own are made by `openSlot`, `appendTokens` and `truncate` only, which no plain decode step calls.
 */
export interface SampleKernels {
  /** [maxSlots] u32: the latest sampled token of each slot, for the embedding of the next step. */
  readonly tokens: GPUBuffer;
  /** [maxRows, RECORD_WORDS] words, usage COPY_SRC: what `readSampleRecord` reads. */
  readonly records: GPUBuffer;
  readonly recordBytes: number;

  /**
   * Gives `slot` to a new sequence: its parameters, and counts of zero.
   * @throws RangeError for parameters outside their range
   */
  openSlot(slot: number, sampling: Required<SamplingParams>, logprobs: number): void;

  /** `full` if any of these slots samples. */
  variantOf(rows: readonly SampleRow[]): SampleVariant;

  /** Uploads the rows of the next step: one writeBuffer. Not for a plan that gave its own `steps`. */
  writeRows(rows: readonly SampleRow[]): void;

  /** Records the two dispatches for rows `0 ..< rowCount` of logits. */
  encode(pass: GPUComputePassEncoder, rowCount: number, variant: SampleVariant): void;

  /**
   * Counts tokens that a step appends other than by {@link SampleRow.append}, at `position` and after, before the steps encoded from now on; free
   * for a slot without penalties.
   */
  appendTokens(slot: number, position: number, ids: readonly number[], isPrompt: boolean): void;

  /** Takes back the counts of tokens `length ..< from` (`from`: the length so far); free for a slot without penalties. */
  truncate(slot: number, length: number, from: number): void;

  /** Sets a slot's grammar mask: bit `id & 31` of word `id >> 5`; 0 bans. It applies to rows that are `masked`. */
  writeMask(slot: number, words: Uint32Array<ArrayBuffer>): void;

  /** Destroys all buffers made here. Calling it twice is safe. */
  destroy(): void;
}

interface SlotState {
  isSampled: boolean;
  isPenalised: boolean;
}

/**
 * Compiles the kernels and makes all that is static.
 * @param gpu whose memory the buffers are made in; the limits that every device has do (8 storage buffers per stage, 256 invocations)
 */
export async function createSampleKernels(
  gpu: { readonly device: GPUDevice; readonly memory: GpuMemory },
  compiler: KernelCompiler,
  options: SampleKernelOptions,
): Promise<SampleKernels> {
  const shape = sampleShape(options);
  const pipelines = await compileSamplePipelines(compiler, options.vocabSize, shape);
  return new GpuSampleKernels(gpu, options, shape, pipelines);
}

class GpuSampleKernels implements SampleKernels {
  readonly tokens: GPUBuffer;
  readonly records: GPUBuffer;
  readonly recordBytes = RECORD_WORDS * 4;
  readonly #device: GPUDevice;
  readonly #memory: GpuMemory;
  readonly #options: SampleKernelOptions;
  readonly #shape: SampleShape;
  readonly #buffers: SampleBuffers;
  readonly #pipelines: SamplePipelines;
  readonly #groups: { partial: GPUBindGroup; final: GPUBindGroup; edit: GPUBindGroup };
  readonly #slots: SlotState[];
  readonly #stepWords: Uint32Array<ArrayBuffer>;
  readonly #editWords = new Uint32Array(EDIT_HEADER_WORDS + EDIT_TOKENS);

  constructor(
    gpu: { readonly device: GPUDevice; readonly memory: GpuMemory },
    options: SampleKernelOptions,
    shape: SampleShape,
    pipelines: SamplePipelines,
  ) {
    this.#device = gpu.device;
    this.#memory = gpu.memory;
    this.#options = options;
    this.#shape = shape;
    this.#pipelines = pipelines;
    this.#buffers = createSampleBuffers(gpu.memory, options, shape);
    this.tokens = this.#buffers.tokens;
    this.records = this.#buffers.records;
    this.#slots = Array.from({ length: options.maxSlots }, () => ({ isSampled: false, isPenalised: false }));
    this.#stepWords = new Uint32Array(options.maxRows * STEP_WORDS);
    this.#groups = this.#createGroups();
  }

  openSlot(slot: number, sampling: Required<SamplingParams>, logprobs: number): void {
    const state = this.#slotAt(slot);
    const { vocabSize } = this.#options;
    const { biasCapacity, stateStride } = this.#shape;
    const params = resolveSampling(sampling, vocabSize);
    if (params.biasIds.length > biasCapacity) {
      throw new RangeError(
        `Cannot bias ${params.biasIds.length} tokens: there is room for ${biasCapacity}; give fewer, or a larger biasCapacity`,
      );
    }
    if (!(Number.isInteger(logprobs) && logprobs >= 0 && logprobs <= MAX_TOP_LOGPROBS)) {
      throw new RangeError(`Cannot give ${logprobs} log-probabilities: give a whole number up to ${MAX_TOP_LOGPROBS}`);
    }
    const words = packSlotParams(params, logprobs, biasCapacity);
    this.#device.queue.writeBuffer(this.#buffers.slotParams, slot * words.byteLength, words);
    if (state.isPenalised) {
      const encoder = this.#device.createCommandEncoder({ label: 'sample: clear counts' });
      encoder.clearBuffer(this.#buffers.state, slot * stateStride * 4, vocabSize * 4);
      this.#device.queue.submit([encoder.finish()]);
    }
    state.isSampled = !params.greedy;
    state.isPenalised = params.penalised;
  }

  variantOf(rows: readonly SampleRow[]): SampleVariant {
    return rows.some((row) => row.sample && this.#slotAt(row.slot).isSampled) ? 'full' : 'greedy';
  }

  writeRows(rows: readonly SampleRow[]): void {
    const { steps } = this.#buffers;
    if (steps === undefined) throw new TypeError('Cannot write rows: the plan gave its own steps; write them there');
    if (rows.length > this.#options.maxRows) {
      throw new RangeError(`Cannot write ${rows.length} rows: there is room for ${this.#options.maxRows}; give fewer`);
    }
    for (let i = 0; i < rows.length; i++) packStepRow(this.#stepWords, i * STEP_WORDS, rows[i]!);
    this.#device.queue.writeBuffer(steps, 0, this.#stepWords, 0, rows.length * STEP_WORDS);
  }

  encode(pass: GPUComputePassEncoder, rowCount: number, variant: SampleVariant): void {
    pass.setPipeline(this.#pipelines.partial[variant].pipeline);
    pass.setBindGroup(0, this.#groups.partial);
    pass.dispatchWorkgroups(this.#shape.blocks, rowCount);
    pass.setPipeline(this.#pipelines.final[variant].pipeline);
    pass.setBindGroup(0, this.#groups.final);
    pass.dispatchWorkgroups(rowCount);
  }

  appendTokens(slot: number, position: number, ids: readonly number[], isPrompt: boolean): void {
    if (!this.#slotAt(slot).isPenalised) return;
    const promptBit = isPrompt ? 0x80000000 : 0;
    const words = this.#editWords;
    for (let start = 0; start < ids.length; start += EDIT_TOKENS) {
      const count = Math.min(EDIT_TOKENS, ids.length - start);
      words.set([slot, position + start, count, 1]);
      for (let i = 0; i < count; i++) words[EDIT_HEADER_WORDS + i] = ids[start + i]! | promptBit;
      this.#submitEdit(EDIT_HEADER_WORDS + count, count);
    }
  }

  truncate(slot: number, length: number, from: number): void {
    if (!this.#slotAt(slot).isPenalised || from <= length) return;
    this.#editWords.set([slot, length, from - length, 0]);
    this.#submitEdit(EDIT_HEADER_WORDS, from - length);
  }

  writeMask(slot: number, words: Uint32Array<ArrayBuffer>): void {
    this.#slotAt(slot);
    const { stateStride, maskOffset } = this.#shape;
    checkMask(words, this.#options.vocabSize);
    this.#device.queue.writeBuffer(this.#buffers.state, (slot * stateStride + maskOffset) * 4, words);
  }

  destroy(): void {
    for (const name of Object.keys(this.#buffers) as (keyof SampleBuffers)[]) {
      const buffer = this.#buffers[name];
      if (buffer !== undefined) this.#memory.destroy(buffer);
    }
  }

  #createGroups(): { partial: GPUBindGroup; final: GPUBindGroup; edit: GPUBindGroup } {
    const { logits, steps: planSteps, maxRows } = this.#options;
    const { slotParams, steps, state, tokens, adjusted, partials, records, edit } = this.#buffers;
    const group = ({ label, layout }: Kernel, resources: readonly (GPUBuffer | GPUBufferBinding)[]): GPUBindGroup =>
      this.#device.createBindGroup({
        label,
        layout,
        entries: resources.map((resource, binding) => ({
          binding,
          resource: 'buffer' in resource ? resource : { buffer: resource },
        })),
      });
    const rows = { ...(planSteps ?? { buffer: steps!, offset: 0 }), size: maxRows * STEP_WORDS * 4 };
    const shared = [logits, slotParams, rows, state, tokens, adjusted, partials];
    // The variants have the same bindings, so one bind group of equal layout does for both.
    return {
      partial: group(this.#pipelines.partial.full, shared),
      final: group(this.#pipelines.final.full, [...shared, records]),
      edit: group(this.#pipelines.edit, [state, edit]),
    };
  }

  #submitEdit(words: number, count: number): void {
    this.#device.queue.writeBuffer(this.#buffers.edit, 0, this.#editWords, 0, words);
    const encoder = this.#device.createCommandEncoder({ label: 'sample: edit counts' });
    const pass = encoder.beginComputePass({ label: 'sample: edit counts' });
    pass.setPipeline(this.#pipelines.edit.pipeline);
    pass.setBindGroup(0, this.#groups.edit);
    pass.dispatchWorkgroups(Math.ceil(count / EDIT_WORKGROUP));
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  #slotAt(slot: number): SlotState {
    const state = this.#slots[slot];
    if (state === undefined) {
      throw new RangeError(`Cannot use slot ${slot}: there are ${this.#slots.length}; give one below that`);
    }
    return state;
  }
}
