/** One load of a sweep: what the machine gave, and what a user waited for it. */
export interface LoadPoint {
  value: number;
  /** All users together. */
  tokensPerSecond: number | undefined;
  /** End-to-end latency, p95. */
  latencyMs: number | undefined;
}

/**
 * The knee of a latency-throughput curve: the load with the most throughput per latency (Kleinrock's power, "Power and deterministic rules of
 * thumb for probabilistic problems in computer communications", 1979). Before it more load is nearly free; after it each token more is
 * paid for with waiting. Absent for fewer than three points that were measured: two have no shape.
 */
export function findKnee(points: readonly LoadPoint[]): number | undefined {
  const measured = points.flatMap(({ value, tokensPerSecond, latencyMs }) =>
    tokensPerSecond && latencyMs ? [{ value, power: tokensPerSecond / latencyMs }] : [],
  );
  if (measured.length < 3) return undefined;
  return measured.reduce((best, point) => (point.power > best.power ? point : best)).value;
}
