import { percentile } from '../../metrics/percentile.ts';
import { LEAST_MS } from './plain-pace.ts';

/** Steps that verify are waited for one by one: the median, as a hiccup of the machine is no reason to change course. */
const VERIFY_SAMPLES = 5;
/** A step that verifies, against a plain one, before one was ever measured: weights are read once for both, the ids come to the CPU in between. */
const GUESS = 1.1;

/** What steps that verify drafts cost on this device, learnt as they run: ms from one step's result to the next one's, while there is work. */
export class VerifyPace {
  readonly #verify = new Map<number, number[]>();

  /** @param rows tokens of all sequences */
  verifyStep(rows: number, ms: number): void {
    const samples = this.#verify.get(rows) ?? [];
    samples.push(ms);
    if (samples.length > VERIFY_SAMPLES) samples.shift();
    this.#verify.set(rows, samples);
  }

  /** Of a step that verifies: measured, or on a straight line between what was measured, beginning at a plain step. */
  verifyMs(rows: number, sequences: number, plainMs: number): number {
    let below: Point = [sequences, plainMs * GUESS];
    let above: Point | undefined;
    for (const [measuredRows, samples] of this.#verify) {
      const point: Point = [measuredRows, Math.max(LEAST_MS, percentile(samples, 50)!)];
      if (measuredRows === rows) return point[1];
      if (measuredRows < rows && measuredRows > below[0]) below = point;
      if (measuredRows > rows && measuredRows < (above?.[0] ?? Infinity)) above = point;
    }
    if (!above) return below[1];
    return below[1] + ((above[1] - below[1]) * (rows - below[0])) / (above[0] - below[0]);
  }

  /** Of a step that verifies, as if none had been measured: what a probe hopes for. */
  hopedMs(plainMs: number): number {
    return plainMs * GUESS;
  }
}

/** Rows, ms. */
type Point = readonly [number, number];
