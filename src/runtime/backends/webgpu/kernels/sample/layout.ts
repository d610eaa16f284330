/** Words (u32 or f32) of the buffers that the sample kernels share with the plan. The `.wgsl` headers name the same offsets. */
import type { TokenLogprob } from '../../../../../shared/generation.ts';
import { MAX_TOP_LOGPROBS, type ResolvedSampling } from '../../../sampling/definition.ts';

/** Words of a row in the `steps` buffer: slot, position, flags, token. */
export const STEP_WORDS = 4;
const STEP_SAMPLE = 1;
const STEP_APPEND_PREVIOUS = 2;
const STEP_APPEND_TOKEN = 4;
const STEP_MASKED = 8;
const STEP_FOLLOWED = 16;
/** Bits of the flags from which on the depth is. */
const DEPTH_SHIFT = 8;

/** What a row of logits is for. */
export interface SampleRow {
  /** Where the sequence's parameters, counts and latest token are. */
  slot: number;
  /** Tokens of the sequence, the one appended by this step included: the index of the token to be sampled. */
  position: number;
  /** False: the row samples nothing, and its record is not written. */
  sample: boolean;
  /**
   * The one output token that this step appends, for the penalties: `'previous'` is the slot's latest sampled token. Absent when
   * there is none, or when `appendTokens` has counted the step's tokens already (a prompt chunk).
   */
  append?: 'previous' | number;
  /** The slot's grammar mask applies. @default false */
  masked?: boolean;
  /**
   * For a sequence that is sampled after each of several tokens: how many of them come before this row's, each in the row before it, with
   * its id as `append`. @default 0
   */
  depth?: number;
  /** The next row goes on with the sequence: it counts the tokens, and its sample is the latest. @default false */
  followed?: boolean;
}

/** Writes one row of the `steps` buffer at `offset` words. */
export function packStepRow(words: Uint32Array, offset: number, row: SampleRow): void {
  let flags = row.sample ? STEP_SAMPLE : 0;
  if (row.append === 'previous') flags |= STEP_APPEND_PREVIOUS;
  else if (row.append !== undefined) flags |= STEP_APPEND_TOKEN;
  if (row.masked === true) flags |= STEP_MASKED;
  if (row.followed === true) flags |= STEP_FOLLOWED;
  flags |= (row.depth ?? 0) << DEPTH_SHIFT;
  words[offset] = row.slot;
  words[offset + 1] = row.position;
  words[offset + 2] = flags;
  words[offset + 3] = typeof row.append === 'number' ? row.append : 0;
}

/** Words of a slot in the `slotParams` buffer before its bias entries. */
export const PARAM_WORDS = 16;

/** f32 that stands for -Infinity on the GPU, where infinities are not safe under fast math. */
const BANNED = -3e38;

/** Writes the parameters of a slot: {@link PARAM_WORDS} words, `biasCapacity` ids, `biasCapacity` values. */
export function packSlotParams(
  params: ResolvedSampling,
  logprobs: number,
  biasCapacity: number,
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(PARAM_WORDS + 2 * biasCapacity);
  const floats = new Float32Array(words.buffer);
  floats[0] = params.inverseTemperature;
  floats[1] = params.topP;
  floats[2] = Math.max(params.logMinP, BANNED);
  words[3] = params.topK;
  floats[4] = params.repetitionPenalty;
  floats[5] = params.inverseRepetitionPenalty;
  floats[6] = params.frequencyPenalty;
  floats[7] = params.presencePenalty;
  words[8] = params.seed;
  words[9] = logprobs;
  words[10] = params.biasIds.length;
  words[11] = (params.greedy ? 0 : 1) | (params.penalised ? 2 : 0);
  words.set(params.biasIds, PARAM_WORDS);
  floats.set(
    params.biasValues.map((value) => Math.max(value, BANNED)),
    PARAM_WORDS + biasCapacity,
  );
  return words;
}

/** Tokens that one upload of a count edit carries; more take several submits. */
export const EDIT_TOKENS = 4096;
/** Words of a count edit before its tokens: slot, position, number of tokens, 1 if added. */
export const EDIT_HEADER_WORDS = 4;

/** Words of a row in the `records` buffer: token, status, logprob, number of top entries, then (id, logprob) of each. */
export const RECORD_WORDS = 4 + 2 * MAX_TOP_LOGPROBS;

/** What went wrong with a row; the token of its record is then 0 and means nothing. */
export type SampleFault = 'not-finite' | 'flat' | 'all-banned';

export interface SampleRecord {
  token: number;
  /** Absent: all is well. */
  fault?: SampleFault;
  /** Absent unless the slot asked for log-probabilities. */
  logprob?: number;
  topLogprobs?: readonly TokenLogprob[];
}

/** Reads row `row` of what was copied from the `records` buffer. */
export function readSampleRecord(records: ArrayBuffer, row: number, logprobs: number): SampleRecord {
  const words = new Uint32Array(records, row * RECORD_WORDS * 4, RECORD_WORDS);
  const status = words[1]!;
  const token = words[0]!;
  if (status !== 0)
    return { token, fault: (status & 1) !== 0 ? 'not-finite' : (status & 2) !== 0 ? 'flat' : 'all-banned' };
  if (logprobs === 0) return { token };
  const floats = new Float32Array(records, row * RECORD_WORDS * 4, RECORD_WORDS);
  const topLogprobs = Array.from({ length: words[3]! }, (_, i): TokenLogprob => {
    return { id: words[4 + 2 * i]!, logprob: floats[5 + 2 * i]! };
  });
  return { token, logprob: floats[2]!, topLogprobs };
}
