/** Rank of merging `text[start, middle)` with `text[middle, end)`: the lowest merges first; negative: these never merge. */
export type PairRank = (text: string, start: number, middle: number, end: number) => number;

/** Ranks are below 2^22 and positions below 2^30, so a rank and a position fit in one double exactly. */
const POSITIONS = 2 ** 30;
const DEAD = -2;
const NONE = -1;

/**
 * The merge loop of byte-pair encoding and of SentencePiece: joins neighbouring symbols, lowest rank first and leftmost first
 * among equals, until nothing merges. A heap keeps it at O(n log n), since SentencePiece merges a whole prompt at once.
 *
 * Symbols live in arrays that are kept between calls; a pair in the heap is stale when one of its sides has merged since.
 */
export class SymbolMerger {
  readonly #rank: PairRank;
  #ends = new Int32Array(64);
  #starts = new Int32Array(64);
  #previous = new Int32Array(64);
  #next = new Int32Array(64);
  #heapKeys = new Float64Array(192);
  #heapEnds = new Int32Array(192);
  #heapSize = 0;

  constructor(rank: PairRank) {
    this.#rank = rank;
  }

  /** Calls `emit` for each piece, first to last. Symbols at the start are the code points of `text`. */
  merge(text: string, emit: (start: number, end: number) => void): void {
    const count = this.#splitCodePoints(text);
    if (count === 0) return;
    this.#heapSize = 0;
    for (let i = 0; i + 1 < count; i++) this.#offer(text, i, i + 1);
    while (this.#heapSize > 0) {
      const left = this.#heapKeys[0]! % POSITIONS;
      const end = this.#heapEnds[0]!;
      this.#pop();
      const right = this.#next[left]!;
      if (right < 0 || this.#ends[right] !== end) continue;
      this.#join(text, left, right);
    }
    for (let i = 0; i !== NONE; i = this.#next[i]!) emit(this.#starts[i]!, this.#ends[i]!);
  }

  #join(text: string, left: number, right: number): void {
    const after = this.#next[right]!;
    this.#ends[left] = this.#ends[right]!;
    this.#next[left] = after;
    this.#next[right] = DEAD;
    if (after !== NONE) {
      this.#previous[after] = left;
      this.#offer(text, left, after);
    }
    const before = this.#previous[left]!;
    if (before !== NONE) this.#offer(text, before, left);
  }

  #splitCodePoints(text: string): number {
    if (text.length > this.#ends.length) this.#grow(text.length);
    let count = 0;
    for (let start = 0; start < text.length; count++) {
      const end = start + (text.codePointAt(start)! > 0xffff ? 2 : 1);
      this.#starts[count] = start;
      this.#ends[count] = end;
      this.#previous[count] = count - 1;
      this.#next[count] = count + 1;
      start = end;
    }
    if (count > 0) this.#next[count - 1] = NONE;
    return count;
  }

  #grow(length: number): void {
    const size = 2 ** Math.ceil(Math.log2(length));
    this.#starts = new Int32Array(size);
    this.#ends = new Int32Array(size);
    this.#previous = new Int32Array(size);
    this.#next = new Int32Array(size);
    // At most n - 1 pairs at the start and two for each of the n - 1 merges.
    this.#heapKeys = new Float64Array(size * 3);
    this.#heapEnds = new Int32Array(size * 3);
  }

  #offer(text: string, left: number, right: number): void {
    const end = this.#ends[right]!;
    const rank = this.#rank(text, this.#starts[left]!, this.#starts[right]!, end);
    if (rank >= 0) this.#push(rank * POSITIONS + left, end);
  }

  #push(key: number, end: number): void {
    const keys = this.#heapKeys;
    const ends = this.#heapEnds;
    let at = this.#heapSize++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[at] = keys[parent]!;
      ends[at] = ends[parent]!;
      at = parent;
    }
    keys[at] = key;
    ends[at] = end;
  }

  #pop(): void {
    const keys = this.#heapKeys;
    const ends = this.#heapEnds;
    const size = --this.#heapSize;
    const key = keys[size]!;
    const end = ends[size]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++;
      if (key <= keys[child]!) break;
      keys[at] = keys[child]!;
      ends[at] = ends[child]!;
      at = child;
    }
    keys[at] = key;
    ends[at] = end;
  }
}
