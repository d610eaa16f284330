import { isTokenglassError } from '../../../shared/errors.ts';
import { relativeHalfWidth } from '../stats/quantile-interval.ts';
import type { Run } from '../report.ts';
import type { Sample } from '../sample.ts';
import type { StopRule } from './workload.ts';

/** Failures one after another at which a run gives up: the device is gone, and the rest would only fill the report. */
const HOPELESS = 10;

/** Where in the run a request was due. */
export type Stage = 'warm-up' | 'steady' | 'cool-down';

/** What came of the requests of one run. */
export class Recorder {
  readonly samples: Sample[] = [];
  readonly failures: (Run['failures'][number] & { stage: Stage })[] = [];
  #failuresInARow = 0;
  #ttfts: number[] = [];

  add(sample: Sample): void {
    this.#failuresInARow = 0;
    this.samples.push(sample);
    if (!sample.warmUp && !sample.coolDown && !sample.hidden && sample.ttftMs !== undefined)
      this.#ttfts.push(sample.ttftMs);
  }

  fail(index: number, stage: Stage, error: unknown): void {
    this.#failuresInARow += 1;
    const code = isTokenglassError(error) ? error.code : error instanceof Error ? error.name : 'unknown';
    this.failures.push({ index, stage, code, message: error instanceof Error ? error.message : String(error) });
  }

  get isHopeless(): boolean {
    return this.#failuresInARow >= HOPELESS;
  }

  get steady(): Sample[] {
    return this.samples.filter(({ warmUp, coolDown }) => !warmUp && !coolDown);
  }

  get coolDown(): Sample[] {
    return this.samples.filter(({ coolDown }) => coolDown);
  }

  get steadyFailures(): number {
    return this.failures.filter(({ stage }) => stage === 'steady').length;
  }

  /** Measured requests that ended, well or not. */
  get steadyEnded(): number {
    return this.steady.length + this.steadyFailures;
  }

  /** See {@link StopRule.p95Within}; absent while there is none. */
  get p95HalfWidth(): number | undefined {
    return relativeHalfWidth(this.#ttfts, 95);
  }

  isPreciseEnough({ p95Within }: StopRule): boolean {
    if (p95Within === undefined) return false;
    const width = this.p95HalfWidth;
    return width !== undefined && width <= p95Within;
  }
}
