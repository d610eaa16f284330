import { NEUTRAL_SAMPLING, type SamplingParams } from '../../../../shared/generation.ts';

/** Sampling parameters with everything off. */
export const PLAIN = NEUTRAL_SAMPLING;

/** Seeded numbers in [0, 1) (mulberry32), so that cases are the same on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Shapes of logits that models give, and some that they should not. */
export const LOGIT_KINDS = ['model', 'peaked', 'quantised', 'masked', 'wide', 'nearly flat'] as const;
export type LogitKind = (typeof LOGIT_KINDS)[number];

export function randomLogits(kind: LogitKind, vocabSize: number, random: () => number): Float32Array {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const logits = Float32Array.from({ length: vocabSize }, () => {
    if (kind === 'quantised') return Math.round(normal() * 2) / 2; // many ties
    if (kind === 'masked') return random() < 0.5 ? -Infinity : normal() * 3;
    if (kind === 'wide') return normal() * 1e4;
    if (kind === 'nearly flat') return 7 + normal() * 0.01;
    return normal() * 3 - 2;
  });
  if (kind === 'peaked') for (let i = 0; i < 3; i++) logits[Math.floor(random() * vocabSize)] = 12 + normal();
  if (kind === 'masked') logits[Math.floor(random() * vocabSize)] = 1; // never all of them
  logits[0] = logits[0] === logits[vocabSize - 1] ? 0.25 : logits[0]!; // never flat
  return logits;
}

const pick = <T>(random: () => number, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

/** Parameters of which each is off about half of the time. */
export function randomParams(vocabSize: number, random: () => number): Required<SamplingParams> {
  const bias: Record<number, number> = {};
  if (random() < 0.3) {
    for (let i = 0; i < 20 && i < vocabSize - 1; i++) {
      bias[Math.floor(random() * (vocabSize - 1))] = pick(random, [-100, -Infinity, -3, 0.5, 4]);
    }
  }
  return {
    temperature: pick(random, [0, 0.2, 0.7, 1, 1, 1.5]),
    topP: pick(random, [1, 1, 0.95, 0.9, 0.5, 0.05]),
    topK: pick(random, [0, 0, 1, 5, 20, 40, 300, 5000]),
    minP: pick(random, [0, 0, 0.02, 0.1, 0.5]),
    repetitionPenalty: pick(random, [1, 1, 1.1, 1.5, 0.9]),
    frequencyPenalty: pick(random, [0, 0, 0.3, -0.4]),
    presencePenalty: pick(random, [0, 0, 0.6, -0.2]),
    logitBias: bias,
    seed: Math.floor(random() * 2 ** 32),
  };
}

/** Token ids of which some occur often. */
export function randomTokens(count: number, vocabSize: number, random: () => number): number[] {
  const few = Array.from({ length: 5 }, () => Math.floor(random() * vocabSize));
  return Array.from({ length: count }, () => (random() < 0.5 ? pick(random, few) : Math.floor(random() * vocabSize)));
}

/** Whether counts fit expected ones: the chi-square statistic in standard deviations (Wilson and Hilferty), good for any number of bins. */
export function chiSquareDeviations(counts: readonly number[], expected: readonly number[]): number {
  const statistic = counts.reduce((sum, count, i) => sum + (count - expected[i]!) ** 2 / expected[i]!, 0);
  const freedom = counts.length - 1;
  return (Math.cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom));
}

/** One in a hundred fair samples is beyond this many standard deviations (one-sided). */
export const ONE_PERCENT = 2.326;
