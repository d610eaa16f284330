import { TokenglassError } from '../../../shared/errors.ts';
import type { SamplingParams, TokenLogprob } from '../../../shared/generation.ts';
import { MAX_TOP_LOGPROBS, resolveSampling, type ResolvedSampling } from './definition.ts';
import { gumbelBound, gumbelOf, MAX_GUMBEL, noise } from './gumbel.ts';
import type { TokenCounts } from './token-counts.ts';
import { kthLargest, topN } from './top-n.ts';

export interface SampleRequest {
  /** f32, one per token of the vocabulary; not changed. */
  logits: Float32Array;
  /** What {@link resolveSampling} made of the parameters, or the parameters themselves (resolved once, then remembered). */
  params: Required<SamplingParams>;
  /** Tokens so far; may be left out when no penalty is on. */
  counts?: TokenCounts;
  /** Tokens in the sequence before the one to be chosen. */
  position: number;
  /** Top n of log-probabilities, at most 20; 0: none, and no `logprob` either. */
  logprobs: number;
  /** One bit per token, bit `id & 31` of word `id >> 5`; 0 bans. Absent: everything is allowed. */
  mask?: Uint32Array;
}

export interface SampledToken {
  token: number;
  logprob?: number;
  topLogprobs?: readonly TokenLogprob[];
}

export interface Sampler {
  readonly vocabSize: number;
  /**
   * Chooses a token as definition.ts says.
   * @throws TokenglassError `numeric-fault` for NaN, +Infinity or flat logits, or when every token is banned
   */
  sample(request: SampleRequest): SampledToken;
}

/** A sampler on the CPU. Its scratch is made once and reused; calls must not overlap (they are synchronous). */
export function createSampler(vocabSize: number): Sampler {
  if (!(Number.isInteger(vocabSize) && vocabSize > 0)) {
    throw new RangeError(`Cannot create a sampler: the vocabulary size is ${vocabSize}; give a whole number above 0`);
  }
  return new CpuSampler(vocabSize);
}

class CpuSampler implements Sampler {
  readonly vocabSize: number;
  readonly #topIds = new Uint32Array(MAX_TOP_LOGPROBS);
  /** Adjusted logits; made when a bias, penalty or mask is first used. */
  #adjusted: Float32Array | undefined;
  #heap = new Float32Array(0);
  readonly #resolved = new WeakMap<object, ResolvedSampling>();

  constructor(vocabSize: number) {
    this.vocabSize = vocabSize;
  }

  sample(request: SampleRequest): SampledToken {
    const { logits, counts, mask } = request;
    if (logits.length !== this.vocabSize) {
      throw new RangeError(
        `Cannot sample: ${logits.length} logits for a vocabulary of ${this.vocabSize}; give one each`,
      );
    }
    const params = this.#resolve(request.params);
    const best = argmaxChecked(logits);
    const isPenalised = params.penalised && counts !== undefined;
    let z = logits;
    let zBest = best;
    if (isPenalised || params.biasIds.length > 0 || mask !== undefined) {
      z = this.#adjust(logits, params, isPenalised ? counts : undefined, mask);
      zBest = argmax(z);
      if (z[zBest] === -Infinity) throw fault('every token is banned', 'allow at least one');
    }
    const token = params.greedy ? zBest : this.#choose(z, zBest, params, request.position);
    return request.logprobs > 0 ? this.#withLogprobs(token, logits, logits[best]!, request.logprobs) : { token };
  }

  #resolve(params: Required<SamplingParams>): ResolvedSampling {
    let resolved = this.#resolved.get(params);
    if (resolved === undefined) {
      resolved = resolveSampling(params, this.vocabSize);
      this.#resolved.set(params, resolved);
    }
    return resolved;
  }

  /** Steps 3 to 6. */
  #adjust(
    logits: Float32Array,
    params: ResolvedSampling,
    counts: TokenCounts | undefined,
    mask: Uint32Array | undefined,
  ): Float32Array {
    const z = (this.#adjusted ??= new Float32Array(this.vocabSize));
    z.set(logits);
    const { biasIds, biasValues } = params;
    for (let i = 0; i < biasIds.length; i++) z[biasIds[i]!]! += biasValues[i]!; // typed array: rounds to f32
    counts?.penalise(z, params);
    if (mask !== undefined) {
      for (let id = 0; id < z.length; id++) if (((mask[id >> 5]! >> (id & 31)) & 1) === 0) z[id] = -Infinity;
    }
    return z;
  }

  /**
   * Steps 8 to 12. The kept set is {z above some value}, so the winner over all tokens is also the winner over the kept ones if it is
   * kept; if not, nothing at or below it is kept, and the search goes on above it. Most often the first winner is
   * kept, and no threshold has to be found.
   */
  #choose(z: Float32Array, best: number, params: ResolvedSampling, position: number): number {
    const { topK, topP, logMinP, inverseTemperature, seed } = params;
    const max = z[best]!;
    const minS = logMinP;
    const minZ = topK > 0 ? kthLargest(z, topK, this.#heapOf(topK)) : -Infinity;
    const kept = topP < 1 ? massAbove(z, max, inverseTemperature, -Infinity, minZ, minS) : 0;
    let above = -Infinity;
    for (;;) {
      const winner = gumbelArgmax({ z, best, max, inverseTemperature, above, minZ, minS, seed, position });
      if (topP >= 1 || massAbove(z, max, inverseTemperature, z[winner]!, minZ, minS) < topP * kept) return winner;
      above = z[winner]!;
    }
  }

  #heapOf(k: number): Float32Array {
    if (this.#heap.length < k) this.#heap = new Float32Array(k);
    return this.#heap;
  }

  #withLogprobs(token: number, logits: Float32Array, max: number, n: number): SampledToken {
    const logSum = max + Math.log(massAbove(logits, max, 1, -Infinity, -Infinity, -Infinity));
    const count = topN(logits, Math.min(n, MAX_TOP_LOGPROBS), this.#topIds);
    const topLogprobs = Array.from({ length: count }, (_, i): TokenLogprob => {
      const id = this.#topIds[i]!;
      return { id, logprob: logits[id]! - logSum };
    });
    return { token, logprob: logits[token]! - logSum, topLogprobs };
  }
}

/** Sum of exp(s) over kept tokens with z > above. */
function massAbove(z: Float32Array, max: number, scale: number, above: number, minZ: number, minS: number): number {
  let mass = 0;
  for (let id = 0; id < z.length; id++) {
    const value = z[id]!;
    if (!(value > above && value >= minZ)) continue;
    const s = (value - max) * scale;
    if (s >= minS) mass += Math.exp(s);
  }
  return mass;
}

interface GumbelSearch {
  z: Float32Array;
  /** An id with the largest z. */
  best: number;
  max: number;
  inverseTemperature: number;
  above: number;
  minZ: number;
  minS: number;
  seed: number;
  position: number;
}

/** The id with the largest s + g of the tokens with z > above that top-k and min-p keep. */
function gumbelArgmax(search: GumbelSearch): number {
  const { z, best, max, inverseTemperature, above, minZ, minS, seed, position } = search;
  let winner = best;
  let winning = gumbelOf(noise(seed, position, best));
  for (let id = 0; id < z.length; id++) {
    const value = z[id]!;
    if (!(value > above && value >= minZ)) continue;
    const s = (value - max) * inverseTemperature;
    // Noise is bounded, so a token too far down cannot win; the bound by its bits spares most of the logarithms, too.
    if (s < minS || s + MAX_GUMBEL < winning) continue;
    const bits = noise(seed, position, id);
    if (s + gumbelBound(bits) < winning) continue;
    const score = s + gumbelOf(bits);
    if (score > winning || (score === winning && id < winner)) {
      winning = score;
      winner = id;
    }
  }
  return winner;
}

/** The lowest id of the largest value. */
function argmax(values: Float32Array): number {
  let best = 0;
  for (let id = 1; id < values.length; id++) if (values[id]! > values[best]!) best = id;
  return best;
}

/** {@link argmax}, and step 1. */
function argmaxChecked(logits: Float32Array): number {
  let best = 0;
  let max = -Infinity;
  let min = Infinity;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id]!;
    // False for NaN too.
    if (!(value < Infinity)) throw fault(`the logit of token ${id} is ${value}`, 'load the model again');
    if (value > max) {
      max = value;
      best = id;
    }
    if (value < min) min = value;
  }
  if (max === min && logits.length > 1) throw fault('all logits are equal', 'load the model again');
  if (max === -Infinity) throw fault('the only logit is -Infinity', 'load the model again');
  return best;
}

function fault(what: string, remedy: string): TokenglassError {
  return new TokenglassError('numeric-fault', `Cannot sample: ${what}; ${remedy}`);
}
