import { percentile } from '../metrics/percentile.ts';

/** What was measured of a step. */
interface StepCost {
  /** Rows of sequences that decode. */
  decodeRows: number;
  /** Tokens of prompts. */
  prefillTokens: number;
  /** Without the time that it waited for the steps before it. */
  ms: number;
}

/** The latest steps of a kind, whose median is the estimate: one slow step (a tab in the background, a compile) does not count. */
const REMEMBERED = 9;
/** Where nothing is measured yet. Small, as a first piece too large would be felt. */
const FIRST_CHUNK = 16;
/** Kernels compute rows in groups of 8 or more: part of a group costs as much as all of it. */
const ROW_GROUP = 8;
/** A prompt gets on, however slow its tokens are. */
const MIN_CHUNK = 4;
/** A result that came together with the one before says nothing of its step's own time. */
const TOGETHER = 0.2;

/**
 * How large a piece of a prompt may be while others decode. The cost of a step is taken for a + b x prompt tokens: a is what a step
 * without them takes, b the rest of one with them by their number.
 */
export class StepPace {
  readonly #stretch: number;
  /** By the number of rows. */
  readonly #decodeMs = new Map<number, number[]>();
  readonly #tokenMs: number[] = [];
  /** The largest piece measured: estimates are not trusted for more than twice of it. */
  #largest = FIRST_CHUNK / 2;

  /** @param stretch how many times as long a step may take with a piece of a prompt in it */
  constructor(stretch: number) {
    this.#stretch = stretch;
  }

  observe({ decodeRows, prefillTokens, ms }: StepCost): void {
    const decodeMs = this.#decodeMsOf(decodeRows);
    if (decodeMs !== undefined && ms < decodeMs * TOGETHER) return;
    if (prefillTokens === 0) {
      const samples = this.#decodeMs.get(decodeRows) ?? [];
      this.#decodeMs.set(decodeRows, samples);
      remember(samples, ms);
    } else if (decodeRows === 0) remember(this.#tokenMs, ms / prefillTokens);
    else if (decodeMs !== undefined) {
      remember(this.#tokenMs, Math.max(0, ms - decodeMs) / prefillTokens);
      this.#largest = Math.max(this.#largest, prefillTokens);
    }
  }

  /**
   * Tokens of prompts that a step may take beside rows that decode.
   * @param joining sequences that will decode too once their prompts are computed: what a step takes with them is what all will have to wait
   *   for, so it is what the stretch counts from
   */
  chunkTokens(decodeRows: number, joining: number): number {
    if (this.#stretch === Infinity) return Infinity;
    const nowMs = this.#decodeMsOf(decodeRows);
    const tokenMs = percentile(this.#tokenMs, 50);
    if (nowMs === undefined || tokenMs === undefined) return wholeGroups(decodeRows, FIRST_CHUNK);
    const soonMs = Math.max(nowMs, this.#decodeMsOf(decodeRows + joining) ?? nowMs);
    const fitting = Math.floor((this.#stretch * soonMs - nowMs) / Math.max(tokenMs, Number.MIN_VALUE));
    return wholeGroups(decodeRows, Math.min(fitting, 2 * this.#largest));
  }

  /** What a step of so many rows takes; where none was measured, one of the next smaller number, else of the next larger. */
  #decodeMsOf(rows: number): number | undefined {
    const known = [...this.#decodeMs.keys()].sort((a, b) => a - b);
    const nearest = known.filter((count) => count <= rows).at(-1) ?? known[0];
    return nearest === undefined ? undefined : percentile(this.#decodeMs.get(nearest)!, 50);
  }
}

/** As many tokens as fill whole groups of rows: at most `tokens`, unless those are too few to get on with. */
function wholeGroups(decodeRows: number, tokens: number): number {
  const rows = Math.floor((decodeRows + tokens) / ROW_GROUP) * ROW_GROUP;
  if (rows - decodeRows >= MIN_CHUNK) return rows - decodeRows;
  const least = Math.ceil((decodeRows + MIN_CHUNK) / ROW_GROUP) * ROW_GROUP;
  return least - decodeRows;
}

function remember(samples: number[], sample: number): void {
  samples.push(sample);
  if (samples.length > REMEMBERED) samples.shift();
}
