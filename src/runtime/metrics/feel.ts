/** How a latency feels to the person who waits. */
export type Feel = 'instant' | 'fluent' | 'noticeable' | 'slow';

export interface FeelThreshold {
  /** Inclusive, ms; the last one is `Infinity`. */
  upToMs: number;
  feel: Feel;
  /** For a page: completes "This ...". */
  words: string;
}

/** Time to first token. DESIGN, section 5: within 300 ms feels instant; one second is where a train of thought breaks (Nielsen, 1993). */
export const TTFT_FEEL: readonly FeelThreshold[] = [
  { upToMs: 300, feel: 'instant', words: 'feels instant' },
  { upToMs: 1000, feel: 'noticeable', words: 'is a short wait' },
  { upToMs: Infinity, feel: 'slow', words: 'is a wait that breaks the thought' },
];

/** Time per token. 40 ms/token is reading speed; beyond 100 ms/token text lags behind the reader. */
export const ITL_FEEL: readonly FeelThreshold[] = [
  { upToMs: 40, feel: 'fluent', words: 'keeps up with reading' },
  { upToMs: 100, feel: 'noticeable', words: 'is slower than reading' },
  { upToMs: Infinity, feel: 'slow', words: 'lags' },
];

/** The first threshold that holds `valueMs`; absent for no value. */
export function feelOf(valueMs: number | undefined, thresholds: readonly FeelThreshold[]): FeelThreshold | undefined {
  return valueMs === undefined ? undefined : thresholds.find(({ upToMs }) => valueMs <= upToMs);
}
