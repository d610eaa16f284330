import { exponential, normal, type Random } from '../stats/random.ts';

/** How long prompts or answers are, in tokens. Draws are rounded to whole tokens, and are at least 1. */
export type LengthDistribution =
  | { kind: 'fixed'; tokens: number }
  /** Every whole number from `min` to `max` alike. */
  | { kind: 'uniform'; min: number; max: number }
  | { kind: 'exponential'; mean: number }
  /** Given by its mean and its 99th percentile, which people know; p99 / mean is at most about 14.9. */
  | { kind: 'lognormal'; mean: number; p99: number }
  /** Each length of a file alike. */
  | { kind: 'empirical'; name: string; lengths: readonly number[] };

/** z of the 99th percentile of the standard normal. */
const Z99 = 2.3263478740408408;

/**
 * Parameters of the logarithm of a lognormal: mean = exp(mu + sigma^2 / 2), p99 = exp(mu + z sigma).
 * @throws RangeError if no lognormal has that mean and p99
 */
export function lognormalParameters(mean: number, p99: number): { mu: number; sigma: number } {
  const ratio = Math.log(p99 / mean);
  const root = Z99 ** 2 - 2 * ratio;
  if (!(mean > 0 && ratio > 0 && root >= 0))
    throw new RangeError(
      `Cannot draw lengths of mean ${mean} and p99 ${p99}: no lognormal has them; p99 must be above the mean and at most 14.9 times it`,
    );
  const sigma = Z99 - Math.sqrt(root);
  return { mu: Math.log(mean) - sigma ** 2 / 2, sigma };
}

/** One draw before rounding. */
export function drawLength(distribution: LengthDistribution, random: Random): number {
  switch (distribution.kind) {
    case 'fixed':
      return distribution.tokens;
    case 'uniform':
      return distribution.min + Math.floor(random() * (distribution.max - distribution.min + 1));
    case 'exponential':
      return exponential(random, distribution.mean);
    case 'lognormal': {
      const { mu, sigma } = lognormalParameters(distribution.mean, distribution.p99);
      return Math.exp(mu + sigma * normal(random));
    }
    case 'empirical':
      return distribution.lengths[Math.floor(random() * distribution.lengths.length)]!;
  }
}

/** One draw in whole tokens, at least 1. */
export const drawTokens = (distribution: LengthDistribution, random: Random): number =>
  Math.max(1, Math.round(drawLength(distribution, random)));

/** @throws RangeError in words for a distribution that cannot be drawn from */
export function checkLengths(distribution: LengthDistribution, what: string): void {
  const refuse = (why: string): never => {
    throw new RangeError(`Cannot draw ${what} lengths: ${why}`);
  };
  const positive = (value: number, name: string): void => {
    if (!(Number.isFinite(value) && value >= 1)) refuse(`${name} is ${value}; give a number of at least 1`);
  };
  switch (distribution.kind) {
    case 'fixed':
      positive(distribution.tokens, 'the number of tokens');
      return;
    case 'uniform':
      positive(distribution.min, 'the least');
      if (!(distribution.max >= distribution.min)) refuse(`the most (${distribution.max}) is below the least`);
      return;
    case 'exponential':
      positive(distribution.mean, 'the mean');
      return;
    case 'lognormal':
      positive(distribution.mean, 'the mean');
      return void lognormalParameters(distribution.mean, distribution.p99);
    case 'empirical':
      if (distribution.lengths.length === 0) refuse('the file has none');
      for (const length of distribution.lengths) positive(length, 'a length of the file');
  }
}

/** In words, short: what a table says. */
export function describeLengths(distribution: LengthDistribution): string {
  switch (distribution.kind) {
    case 'fixed':
      return String(distribution.tokens);
    case 'uniform':
      return `uniform ${distribution.min}-${distribution.max}`;
    case 'exponential':
      return `exponential, mean ${distribution.mean}`;
    case 'lognormal':
      return `lognormal, mean ${distribution.mean}, p99 ${distribution.p99}`;
    case 'empirical':
      return `${distribution.lengths.length} lengths of ${distribution.name}`;
  }
}
