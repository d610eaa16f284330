import type { SamplingParams, TokenLogprob } from '../../../../shared/generation.ts';
import { noise } from '../gumbel.ts';

export interface BruteForceCase {
  logits: Float32Array;
  params: Required<SamplingParams>;
  prompt: readonly number[];
  output: readonly number[];
  mask?: Uint32Array;
}

/** Probability of each token that can be chosen, by sorting everything in f64; one entry of 1 for greedy. */
export function bruteForceDistribution(c: BruteForceCase): Map<number, number> {
  const z = Array.from(c.logits, (_, id) => adjustedLogit(c, id));
  const sorted = z.map((value, id) => ({ value, id })).sort((a, b) => b.value - a.value || a.id - b.id);
  let kept = sorted.filter(({ value }) => value !== -Infinity);
  if (kept.length === 0) return new Map();
  const { temperature, topK, minP, topP } = c.params;
  if (temperature === 0) return new Map([[kept[0]!.id, 1]]);
  const max = kept[0]!.value;
  const weight = (value: number): number => Math.exp((value - max) / temperature);
  if (topK > 0 && topK < kept.length) kept = kept.filter(({ value }) => value >= kept[topK - 1]!.value);
  kept = kept.filter(({ value }) => weight(value) >= minP);
  if (topP < 1) {
    const total = kept.reduce((sum, { value }) => sum + weight(value), 0);
    let last = -1;
    for (let mass = 0; mass < topP * total && last + 1 < kept.length;) mass += weight(kept[++last]!.value);
    kept = kept.filter(({ value }) => value >= kept[last]!.value);
  }
  const total = kept.reduce((sum, { value }) => sum + weight(value), 0);
  return new Map(kept.map(({ value, id }) => [id, weight(value) / total]));
}

/** Scores of the tokens that can be chosen, best first: log-probability plus Gumbel noise. */
export function bruteForceScores(
  distribution: ReadonlyMap<number, number>,
  seed: number,
  position: number,
): { id: number; score: number }[] {
  return [...distribution]
    .map(([id, probability]) => {
      const w = (noise(seed, position, id) + 0.5) / 2 ** 32;
      return { id, score: Math.log(probability) - Math.log(-Math.log1p(-w)) };
    })
    .sort((a, b) => b.score - a.score || a.id - b.id);
}

/** Log-probabilities of raw logits, most likely first, tokens of -Infinity left out. */
export function bruteForceLogprobs(logits: Float32Array): TokenLogprob[] {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const logSum = max + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
  return Array.from(logits, (logit, id) => ({ id, logprob: logit - logSum }))
    .filter(({ logprob }) => logprob !== -Infinity)
    .sort((a, b) => b.logprob - a.logprob || a.id - b.id);
}

/** Steps 3 to 6 of definition.ts for one token, from the lists of tokens. */
function adjustedLogit({ logits, params, prompt, output, mask }: BruteForceCase, id: number): number {
  const r = Math.fround;
  const bias = params.logitBias[id] ?? 0;
  if (bias <= -100) return -Infinity;
  let z = r(logits[id]! + r(bias));
  const count = output.filter((token) => token === id).length;
  if (count > 0 || prompt.includes(id)) {
    z = z > 0 ? r(z * r(1 / params.repetitionPenalty)) : r(z * r(params.repetitionPenalty));
  }
  if (count > 0) z = r(r(z - r(count * r(params.frequencyPenalty))) - r(params.presencePenalty));
  if (mask !== undefined && ((mask[id >> 5]! >> (id & 31)) & 1) === 0) return -Infinity;
  return z;
}
