/**
 * How a token is chosen. This is the one definition; the CPU sampler (this folder) and the WGSL kernels
 * (`backends/webgpu/kernels/sample`) both implement it, and their tests compare them.
 *
 * Input: raw logits l[id] in f32, the tokens of the sequence so far (prompt and output), the parameters, and the position: the
 * number of tokens in the sequence before the one to be chosen (its own index, counted from 0).
 *
 * 1. Fault. A NaN or +Infinity among the raw logits, or all of them equal (vocabulary > 1), is a numeric fault. -Infinity is
 *    allowed: that token cannot be chosen. (The GPU takes anything at or below -1e38 for -Infinity.)
 * 2. Log-probabilities, if asked for: l[id] - log(sum(exp(l))) of the raw logits, natural log, temperature 1; the top n list is
 *    ordered by (logit down, id up) and leaves out tokens of -Infinity.
 * 3. Logit bias: added; at -100 and below the token is banned. (vLLM's order: bias before penalties.)
 * 4. Repetition penalty r, once per token that occurs in prompt or output: z > 0 ? z / r : z * r (CTRL, arXiv 1909.05858).
 * 5. Frequency and presence penalties over output tokens only: z - count * frequency - (count > 0 ? presence : 0) (OpenAI).
 *    Steps 3 to 5 round to f32 after each operation, and division is multiplication by the f32 reciprocal, so that both sides
 *    see the same ties.
 * 6. Grammar bit mask: a token whose bit is 0 is banned. Nothing left unbanned is a numeric fault.
 * 7. Greedy (temperature below 1e-5, as in vLLM): the largest z; ties go to the lowest id. End.
 * 8. Temperature: s = (z - max z) / T. Filters come after the temperature, as in vLLM (llama.cpp applies it last).
 * 9. Top-k: keep z >= the k-th largest z. Tokens tied with the k-th stay, as in vLLM.
 * 10. Min-p: keep s >= log(minP). A share of the most likely token, so it needs no normalisation and commutes with top-k.
 * 11. Top-p: over the distribution renormalised to what 9 and 10 kept (vLLM, llama.cpp), keep a token if the mass of
 *     strictly more likely tokens is below topP. So the token that crosses the threshold stays, tokens tied with it stay,
 *     and the most likely token always stays. The kept set is a set of values, never of ranks among equals: no order of
 *     reduction can change it.
 * 12. Choice by Gumbel-max: the largest s[id] + g[id] of the kept tokens; ties go to the lowest id. g = -log(E), E = -log1p(-w),
 *     w = (h + 0.5) / 2^32, h = noise(seed, position, id) (see gumbel.ts). P(id) is softmax(s) over the kept tokens exactly, and the
 *     choice depends on nothing but logits, tokens, parameters, seed and position: not on batch, chunking, run-ahead or
 *     the order of reduction.
 *
 * The CPU sums and scores in f64, the GPU in f32: they differ where two scores are within about 1e-5 of each other, or a sum is that
 * near to topP; one token in some ten thousand.
 */
import type { SamplingParams } from '../../../shared/generation.ts';

/** Below this temperature the choice is greedy. */
export const GREEDY_TEMPERATURE = 1e-5;
/** A logit bias at or below this bans the token. */
export const BAN_BIAS = -100;
/** Most entries of a top list of log-probabilities. */
export const MAX_TOP_LOGPROBS = 20;

/** Sampling parameters as numbers that both sides calculate with; all but `seed` and `topK` are f32 values. */
export interface ResolvedSampling {
  greedy: boolean;
  /** 1 / temperature; 1 when greedy. */
  inverseTemperature: number;
  /** 0: off. */
  topK: number;
  /** 1: off. */
  topP: number;
  /** log(minP); -Infinity: off. */
  logMinP: number;
  repetitionPenalty: number;
  inverseRepetitionPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  /** Any of the three penalties is on, so tokens have to be counted. */
  penalised: boolean;
  /** Ascending ids without duplicates. */
  biasIds: Uint32Array;
  /** f32; -Infinity bans. */
  biasValues: Float32Array;
  seed: number;
}

function requireRange(name: string, value: number, isValid: boolean, range: string): void {
  if (!isValid) throw new RangeError(`Cannot sample: ${name} is ${value}; give a number ${range}`);
}

/**
 * Checks parameters and turns them into what steps 3 to 12 calculate with.
 * @throws RangeError for a value outside its range or a bias for an id outside the vocabulary
 */
export function resolveSampling(params: Required<SamplingParams>, vocabSize: number): ResolvedSampling {
  const { temperature, topP, topK, minP, repetitionPenalty, frequencyPenalty, presencePenalty, seed } = params;
  requireRange('temperature', temperature, temperature >= 0 && temperature < Infinity, 'of at least 0');
  requireRange('topP', topP, topP > 0 && topP <= 1, 'in (0, 1]');
  requireRange('topK', topK, Number.isInteger(topK) && topK >= 0, 'that is a whole one of at least 0');
  requireRange('minP', minP, minP >= 0 && minP < 1, 'in [0, 1)');
  requireRange(
    'repetitionPenalty',
    repetitionPenalty,
    repetitionPenalty > 0 && repetitionPenalty < Infinity,
    'above 0 (1 is off)',
  );
  requireRange('frequencyPenalty', frequencyPenalty, Number.isFinite(frequencyPenalty), 'that is finite');
  requireRange('presencePenalty', presencePenalty, Number.isFinite(presencePenalty), 'that is finite');
  requireRange('seed', seed, Number.isInteger(seed) && seed >= 0 && seed <= 0xffffffff, 'of unsigned 32 bits');
  const greedy = temperature < GREEDY_TEMPERATURE;
  const bias = resolveBias(params.logitBias, vocabSize);
  return {
    greedy,
    inverseTemperature: greedy ? 1 : Math.fround(1 / temperature),
    topK: topK >= vocabSize ? 0 : topK,
    topP: Math.fround(topP),
    logMinP: minP === 0 ? -Infinity : Math.fround(Math.log(minP)),
    repetitionPenalty: Math.fround(repetitionPenalty),
    inverseRepetitionPenalty: Math.fround(1 / repetitionPenalty),
    frequencyPenalty: Math.fround(frequencyPenalty),
    presencePenalty: Math.fround(presencePenalty),
    penalised: repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0,
    biasIds: bias.ids,
    biasValues: bias.values,
    seed,
  };
}

function resolveBias(
  logitBias: Readonly<Record<number, number>>,
  vocabSize: number,
): { ids: Uint32Array; values: Float32Array } {
  const entries = Object.entries(logitBias).map(([key, value]) => ({ id: Number(key), value }));
  entries.sort((a, b) => a.id - b.id);
  for (const { id, value } of entries) {
    requireRange(
      'a token id of logitBias',
      id,
      Number.isInteger(id) && id >= 0 && id < vocabSize,
      `from 0 to ${vocabSize - 1}`,
    );
    requireRange(`logitBias of token ${id}`, value, value < Infinity, 'below Infinity');
  }
  return {
    ids: Uint32Array.from(entries, (entry) => entry.id),
    values: Float32Array.from(entries, ({ value }) => (value <= BAN_BIAS ? -Infinity : value)),
  };
}
