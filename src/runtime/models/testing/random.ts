/** Uniform 32-bit numbers from a seed (xorshift32): the same in every run and fast enough for hundreds of megabytes. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not begin alike, and the state must not be 0.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 1;
    for (let i = 0; i < 8; i++) this.uint32();
  }

  uint32(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  /** From 0 (included) to 1 (not included). */
  uniform(): number {
    return this.uint32() / 2 ** 32;
  }

  /** An integer from 0 to `below - 1`. */
  integer(below: number): number {
    return Math.floor(this.uniform() * below);
  }

  /** Standard normal (Box and Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}
