/** The latest `capacity` items, oldest first; memory stays bounded however long the page runs. */
export class RingBuffer<Item> {
  readonly #items: Item[] = [];
  readonly #capacity: number;
  #oldest = 0;
  #dropped = 0;

  /** @throws RangeError for a capacity that is no whole number of at least 1 */
  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`Cannot keep ${capacity} items: give a whole number of at least 1`);
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length;
  }

  /** Items that were pushed out by newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  get newest(): Item | undefined {
    return this.at(this.#items.length - 1);
  }

  /** By age, 0 the oldest that is kept; nothing outside. */
  at(index: number): Item | undefined {
    return index < 0 || index >= this.#items.length ? undefined : this.#items[(this.#oldest + index) % this.#capacity];
  }

  push(item: Item): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#oldest] = item;
    this.#oldest = (this.#oldest + 1) % this.#capacity;
    this.#dropped += 1;
  }

  /** A copy, oldest first. */
  toArray(): Item[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)];
  }

  clear(): void {
    this.#items.length = 0;
    this.#oldest = 0;
    this.#dropped = 0;
  }
}
