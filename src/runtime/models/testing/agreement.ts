import type { TokenLogprob } from '../../../shared/generation.ts';
import { argmax } from './reference-model.ts';

export interface Agreement {
  /** Share of positions with the same most likely token. */
  top1: number;
  /** Root of the mean squared difference of logits, over the root of the mean square of `ours` (centred). */
  relativeError: number;
  /** The same of the position where it is least. */
  leastRelativeError: number;
  /** Largest difference of one logit. */
  worst: number;
}

/**
 * Compares logits, position by position, with log-probabilities of another engine. A constant per position does not matter: logits are
 * compared after their mean over the tokens given is taken off.
 */
export function agreement(ours: readonly ArrayLike<number>[], theirs: readonly (readonly TokenLogprob[])[]): Agreement {
  let [same, worst, least, squaredError, squaredSize] = [0, 0, Infinity, 0, 0];
  for (const [position, logits] of ours.entries()) {
    // A probability below what an f32 holds comes as -Infinity.
    const known = theirs[position]!.filter(({ logprob }) => Number.isFinite(logprob));
    if (argmax(logits) === known[0]!.id) same++;
    const mean = (value: (entry: TokenLogprob) => number) => known.reduce((sum, entry) => sum + value(entry), 0) / known.length;
    const [ourMean, theirMean] = [mean(({ id }) => logits[id]!), mean(({ logprob }) => logprob)];
    let [error, size] = [0, 0];
    for (const { id, logprob } of known) {
      const centred = logits[id]! - ourMean;
      const difference = centred - (logprob - theirMean);
      worst = Math.max(worst, Math.abs(difference));
      error += difference ** 2;
      size += centred ** 2;
    }
    least = Math.min(least, Math.sqrt(error / size));
    squaredError += error;
    squaredSize += size;
  }
  return {
    top1: same / ours.length,
    relativeError: Math.sqrt(squaredError / squaredSize),
    leastRelativeError: least,
    worst,
  };
}
