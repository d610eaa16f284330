import type { StepPartKey } from './step-parts.ts';

/** One output token on the time line. */
export interface TokenTick {
  /** Place in the answer, from 1. */
  index: number;
  /** Gap to the token before, ms; absent for the first, and after a time when the page was hidden. */
  gapMs?: number | undefined;
  id?: number | undefined;
  /** Of the step that made it; absent where that is not known. */
  parts?: Partial<Record<StepPartKey, number>> | undefined;
  /** Tokens that the step attended to. */
  contextTokens?: number | undefined;
  /** Sequences in the step. */
  batch?: number | undefined;
  /** From its id being known to the page having it, ms. */
  deliveryMs?: number | undefined;
}

/**
 * Heights of a stacked bar chart, one list for each part in `order`: each is the sum of the parts up to it, so that drawing the last first
 * and the others over it stacks them. Parts are scaled to the gap, which is what the token waited for.
 */
export function stackedHeights(ticks: readonly TokenTick[], order: readonly StepPartKey[]): (number | null)[][] {
  const heights: (number | null)[][] = order.map(() => []);
  for (const { gapMs, parts } of ticks) {
    const totalMs = parts ? order.reduce((sum, key) => sum + (parts[key] ?? 0), 0) : 0;
    const scale = gapMs !== undefined && totalMs > 0 ? gapMs / totalMs : 1;
    let sumMs = 0;
    for (const [at, key] of order.entries()) {
      sumMs += (parts?.[key] ?? 0) * scale;
      const isLast = at === order.length - 1;
      // Without parts the whole bar is the last one: time that nobody explains.
      heights[at]!.push(gapMs === undefined ? null : totalMs > 0 ? sumMs : isLast ? gapMs : 0);
    }
  }
  return heights;
}
