/** Largest distance between the samples' distribution and `cdf`, times sqrt(n). */
export function kolmogorovSmirnov(samples: readonly number[], cdf: (x: number) => number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const n = sorted.length;
  let distance = 0;
  for (const [index, x] of sorted.entries())
    distance = Math.max(distance, Math.abs(cdf(x) - index / n), Math.abs(cdf(x) - (index + 1) / n));
  return distance * Math.sqrt(n);
}

/** Critical value at 1 % (Kolmogorov's limit: P(sqrt(n) D > 1.628) = 0.01). */
export const KS_CRITICAL_1_PERCENT = 1.628;

/** Normal distribution function, by the complementary error function (W. J. Cody's series would be finer; 1.2e-7 is enough here). */
export function normalCdf(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.5 * z);
  const polynomial = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
  ];
  const erfc = t * Math.exp(-z * z + polynomial.reduceRight((sum, coefficient) => sum * t + coefficient, 0));
  return x >= 0 ? 1 - erfc / 2 : erfc / 2;
}
