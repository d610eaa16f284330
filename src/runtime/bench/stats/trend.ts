import { percentile } from '../../metrics/percentile.ts';

/** Whether values rise or fall over a run, and by how much. */
export interface Trend {
  /** Median of the last third / median of the first third. */
  ratio: number;
  /** Two-sided p-value of the Mann-Kendall test (normal approximation, ties corrected). */
  p: number;
}

/** Absent for fewer than 10 values, of which nothing can be said. */
export function trend(values: readonly number[]): Trend | undefined {
  const n = values.length;
  if (n < 10) return undefined;
  let s = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) s += Math.sign(values[j]! - values[i]!);
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const tied = [...counts.values()].reduce((sum, t) => sum + t * (t - 1) * (2 * t + 5), 0);
  const variance = (n * (n - 1) * (2 * n + 5) - tied) / 18;
  const z = variance > 0 && s !== 0 ? (s - Math.sign(s)) / Math.sqrt(variance) : 0;
  const third = Math.floor(n / 3);
  const [first, last] = [percentile(values.slice(0, third), 50)!, percentile(values.slice(-third), 50)!];
  return first > 0 ? { ratio: last / first, p: 2 * normalTail(Math.abs(z)) } : undefined;
}

/** P(Z > z) of the standard normal (Abramowitz and Stegun, 26.2.17; error below 7.5e-8). */
export function normalTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const polynomial = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * polynomial;
}
