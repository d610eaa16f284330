import type { Priority } from '../../shared/generation.ts';

/** What the order of requests goes by. */
export interface Ranked {
  readonly priority: Priority;
  /** Number in the order of the calls. */
  arrival: number;
  /** Times that a later one was taken first. */
  overtaken: number;
}

/** A request that was overtaken so often counts as one of the next higher priority. */
export const OVERTAKEN_PER_LEVEL = 8;

const LEVELS: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 2 };

const scoreOf = ({ priority, overtaken }: Ranked): number => LEVELS[priority] * OVERTAKEN_PER_LEVEL + overtaken;

/** Below 0 if `a` goes before `b`: by priority, where having been overtaken counts, then in the order of the calls. */
export const byRank = (a: Ranked, b: Ranked): number => scoreOf(b) - scoreOf(a) || a.arrival - b.arrival;

/** True if `waiting` is worth that `running` stops for it: by a whole level. */
export const outranks = (waiting: Ranked, running: Ranked): boolean =>
  scoreOf(waiting) >= scoreOf(running) + OVERTAKEN_PER_LEVEL;

/** Requests that wait, the next one by {@link byRank} first. None waits for ever: each that is overtaken gains in rank. */
export class WaitingList<Item extends Ranked> {
  readonly #items = new Set<Item>();

  get size(): number {
    return this.#items.size;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }

  add(item: Item): void {
    this.#items.add(item);
  }

  delete(item: Item): void {
    this.#items.delete(item);
  }

  /** The one whose turn it is. */
  peek(): Item | undefined {
    let first: Item | undefined;
    for (const item of this.#items) if (!first || byRank(item, first) < 0) first = item;
    return first;
  }

  /** Tells those that wait that `item` runs: all that came before it were overtaken. */
  passed(item: Item): void {
    for (const other of this.#items) if (other.arrival < item.arrival) other.overtaken += 1;
  }
}
