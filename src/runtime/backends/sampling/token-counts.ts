/** Bit of a history entry that tells a prompt token from an output token; ids are below it. */
const PROMPT_BIT = 0x80000000;

/**
 * The tokens of one sequence, counted for the penalties: in all (repetition) and in the output (frequency, presence). Keeps the ids,
 * so that {@link truncate} can undo counts. Nothing is allocated per token but for growth by doubling.
 */
export class TokenCounts {
  #history = new Uint32Array(64);
  #length = 0;
  readonly #entryOfId = new Map<number, number>();
  #ids = new Uint32Array(64);
  #all = new Uint32Array(64);
  #output = new Uint32Array(64);
  #distinct = 0;

  /** Tokens appended and not truncated. */
  get length(): number {
    return this.#length;
  }

  /** How often `id` occurs in the output; 0 for one that does not. */
  outputCount(id: number): number {
    const entry = this.#entryOfId.get(id);
    return entry === undefined ? 0 : this.#output[entry]!;
  }

  /** Adds a token at the end. */
  append(id: number, isPrompt: boolean): void {
    if (this.#length === this.#history.length) this.#history = grown(this.#history);
    this.#history[this.#length++] = isPrompt ? id | PROMPT_BIT : id;
    let entry = this.#entryOfId.get(id);
    if (entry === undefined) {
      entry = this.#newEntry(id);
      this.#entryOfId.set(id, entry);
    }
    this.#all[entry]!++;
    if (!isPrompt) this.#output[entry]!++;
  }

  /**
   * Takes back all tokens from `length` on.
   * @throws RangeError above the current length
   */
  truncate(length: number): void {
    if (!(length >= 0 && length <= this.#length)) {
      throw new RangeError(`Cannot truncate to ${length} tokens: there are ${this.#length}; give at most that`);
    }
    while (this.#length > length) {
      const token = this.#history[--this.#length]!;
      const entry = this.#entryOfId.get((token & ~PROMPT_BIT) >>> 0)!;
      this.#all[entry]!--;
      if ((token & PROMPT_BIT) === 0) this.#output[entry]!--;
    }
  }

  /** Applies the three penalties to `logits` in place (definition.ts, steps 4 and 5). */
  penalise(
    logits: Float32Array,
    by: {
      repetitionPenalty: number;
      inverseRepetitionPenalty: number;
      frequencyPenalty: number;
      presencePenalty: number;
    },
  ): void {
    for (let entry = 0; entry < this.#distinct; entry++) {
      if (this.#all[entry] === 0) continue; // truncated away
      const id = this.#ids[entry]!;
      const logit = logits[id]!;
      let z = Math.fround(logit > 0 ? logit * by.inverseRepetitionPenalty : logit * by.repetitionPenalty);
      const count = this.#output[entry]!;
      if (count > 0) z = Math.fround(Math.fround(z - Math.fround(count * by.frequencyPenalty)) - by.presencePenalty);
      logits[id] = z;
    }
  }

  #newEntry(id: number): number {
    if (this.#distinct === this.#ids.length) {
      this.#ids = grown(this.#ids);
      this.#all = grown(this.#all);
      this.#output = grown(this.#output);
    }
    this.#ids[this.#distinct] = id;
    return this.#distinct++;
  }
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
