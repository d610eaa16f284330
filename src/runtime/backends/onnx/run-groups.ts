/** What decides which rows of a step are computed together. */
export interface RunRow {
  /** Tokens that the row appends. */
  tokens: number;
  /** Tokens of its sequence that have KV. */
  length: number;
  /** False for a row that has to wait for another one of the step: its sequence has several. */
  isAlone: boolean;
}

export interface RunLimits {
  kvBytesPerToken: number;
  weightBytes: number;
  /** Most bytes of KV in one run, padding included. */
  maxKvBytes: number;
}

/**
 * Which rows share a run, by index: those of one token do, whatever their lengths; a chunk of several tokens is a run of its own, because
 * GroupQueryAttention takes several on top of a past from one row only. Rows that share are padded to the longest. A row whose padding would be
 * more bytes than the weights, which a run reads once, is better off in another run.
 */
export function groupRuns(rows: readonly RunRow[], limits: RunLimits): number[][] {
  const shared = rows.flatMap(({ tokens, isAlone }, index) => (tokens === 1 && isAlone ? [index] : []));
  const single = rows.flatMap(({ tokens, isAlone }, index) => (tokens === 1 && isAlone ? [] : [[index]]));
  // Stable, and lengths grow alike: the groups of one step are those of the next.
  shared.sort((a, b) => rows[b]!.length - rows[a]!.length);
  const groups: number[][] = [];
  for (const index of shared) {
    const group = groups.at(-1);
    const longest = rows[group?.[0] ?? index]!.length;
    const paddingBytes = (longest - rows[index]!.length) * limits.kvBytesPerToken;
    const runBytes = ((group?.length ?? 0) + 1) * (longest + 1) * limits.kvBytesPerToken;
    if (group && paddingBytes <= limits.weightBytes && runBytes <= limits.maxKvBytes) group.push(index);
    else groups.push([index]);
  }
  return [...groups, ...single];
}
