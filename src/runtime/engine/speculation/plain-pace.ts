/** Results of steps that run ahead may arrive in bunches, so that only the mean of many gaps says what one step takes. */
const SAMPLES = 16;
const AT_LEAST = 4;
/** What a clock too coarse to tell gives instead of 0. */
export const LEAST_MS = 0.001;

/** What steps of plain decoding cost, each sequence with one token: ms from one step's result to the next one's. */
export class PlainPace {
  readonly #gaps = new Map<number, number[]>();

  step(sequences: number, ms: number): void {
    const gaps = this.#gaps.get(sequences) ?? [];
    gaps.push(ms);
    if (gaps.length > SAMPLES) gaps.shift();
    this.#gaps.set(sequences, gaps);
  }

  /** Absent while too few were measured. */
  ms(sequences: number): number | undefined {
    const gaps = this.#gaps.get(sequences);
    if (!gaps || gaps.length < AT_LEAST) return undefined;
    return Math.max(LEAST_MS, gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length);
  }
}
