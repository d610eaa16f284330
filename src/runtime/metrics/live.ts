import { percentileOfSorted } from './percentile.ts';

/** Speed of the stream as an overlay shows it, over the latest gaps. */
export interface LiveLatency {
  /** Gaps that the percentiles are of. */
  n: number;
  /** The latest gap, ms/token; absent before the second token. */
  nowMs?: number;
  p50Ms?: number;
  p95Ms?: number;
  /** Gaps of the window / their sum: what this one stream makes, not the machine. Absent if they take no time. */
  tokensPerSecond?: number;
}

/** Rolling ms/token in constant memory: the latest `capacity` gaps, whatever the number of requests. */
export class LiveLatencyWindow {
  readonly #gapsMs: Float64Array;
  #count = 0;
  #lastAtMs: number | undefined;

  /** @param capacity gaps that are kept */
  constructor(capacity = 256) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`Cannot keep ${capacity} gaps: give a whole number of at least 1`);
    this.#gapsMs = new Float64Array(capacity);
  }

  /** An output token was known at `atMs` (see `Clock`). */
  token(atMs: number): void {
    if (this.#lastAtMs !== undefined) {
      this.#gapsMs[this.#count % this.#gapsMs.length] = atMs - this.#lastAtMs;
      this.#count += 1;
    }
    this.#lastAtMs = atMs;
  }

  /** The next token makes no gap with the last one: another request begins, or the page was hidden between them. */
  breakGap(): void {
    this.#lastAtMs = undefined;
  }

  /** Forgets everything. */
  clear(): void {
    this.#count = 0;
    this.#lastAtMs = undefined;
  }

  read(): LiveLatency {
    const n = Math.min(this.#count, this.#gapsMs.length);
    if (n === 0) return { n };
    const sorted = this.#gapsMs.slice(0, n).sort();
    const sumMs = sorted.reduce((sum, gapMs) => sum + gapMs, 0);
    return {
      n,
      nowMs: this.#gapsMs[(this.#count - 1) % this.#gapsMs.length]!,
      p50Ms: percentileOfSorted(sorted, 50)!,
      p95Ms: percentileOfSorted(sorted, 95)!,
      ...(sumMs > 0 && { tokensPerSecond: (n / sumMs) * 1000 }),
    };
  }
}
