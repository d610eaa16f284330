/** Text that arrives in pieces. Appending is O(piece); the whole is joined only when asked for. */
export class TextStream {
  readonly #pieces: string[] = [];
  readonly #listeners = new Set<() => void>();
  #closed = false;

  /** A closed stream of that text. */
  static of(text: string): TextStream {
    const stream = new TextStream();
    stream.append(text);
    stream.close();
    return stream;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** How many pieces there are; `piecesFrom(count)` later gives those that came after. */
  get count(): number {
    return this.#pieces.length;
  }

  /** Everything so far, joined. */
  get text(): string {
    return this.#pieces.join('');
  }

  piecesFrom(index: number): string {
    return this.#pieces.slice(index).join('');
  }

  append(piece: string): void {
    if (this.#closed || piece === '') return;
    this.#pieces.push(piece);
    this.#notify();
  }

  /** No more will come; the last block is complete as it is. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#notify();
  }

  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
