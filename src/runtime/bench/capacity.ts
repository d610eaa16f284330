/** What a probe at one rate said. */
export interface ProbeResult {
  /** Share of requests that met the SLO. */
  share: number;
}

export interface SearchOptions<Result extends ProbeResult> {
  /** Runs the load at that rate. Repeated rates give repeated load: the seed is the same. */
  probe: (ratePerSecond: number) => Promise<Result>;
  /** Where to look first: what one user alone gets out of the engine, say. */
  guessPerSecond: number;
  /** Share of requests that has to meet the SLO. @default 0.95 */
  neededShare?: number;
  /** Ends once (upper - lower) / upper is at most this. @default 0.03 */
  tolerance?: number;
}

export interface SearchResult<Result extends ProbeResult> {
  /** Highest rate that kept the SLO; absent if none did. */
  ratePerSecond?: number;
  /** Lowest rate that did not; absent if none was found. */
  failedRatePerSecond?: number;
  probes: readonly { ratePerSecond: number; kept: boolean; result: Result }[];
}

/** Doublings or halvings of the guess at the most: a factor of 1000 either way. */
const MOST_STEPS = 10;

/**
 * The highest arrival rate that keeps the SLO: doubles or halves the guess until one rate keeps it and one does not, then bisects. It takes
 * for granted that more load is never better; equal seeds make the load of two rates the same but for its pace.
 */
export async function searchCapacity<Result extends ProbeResult>(
  options: SearchOptions<Result>,
): Promise<SearchResult<Result>> {
  const { guessPerSecond, neededShare = 0.95, tolerance = 0.03 } = options;
  if (!(guessPerSecond > 0)) throw new RangeError('Cannot search: the first rate is not above 0');
  if (!(tolerance > 0 && tolerance < 1)) throw new RangeError('Cannot search: the tolerance is not between 0 and 1');
  const probes: SearchResult<Result>['probes'][number][] = [];
  let kept: number | undefined;
  let failed: number | undefined;
  const probe = async (ratePerSecond: number): Promise<boolean> => {
    const result = await options.probe(ratePerSecond);
    const isKept = result.share >= neededShare;
    probes.push({ ratePerSecond, kept: isKept, result });
    if (isKept) kept = Math.max(kept ?? 0, ratePerSecond);
    else failed = Math.min(failed ?? Infinity, ratePerSecond);
    return isKept;
  };
  const factor = (await probe(guessPerSecond)) ? 2 : 0.5;
  for (let step = 1; step <= MOST_STEPS && (kept === undefined || failed === undefined); step++)
    await probe(guessPerSecond * factor ** step);
  while (kept !== undefined && failed !== undefined && (failed - kept) / failed > tolerance)
    await probe((kept + failed) / 2);
  return {
    ...(kept !== undefined && { ratePerSecond: kept }),
    ...(failed !== undefined && { failedRatePerSecond: failed }),
    probes,
  };
}
