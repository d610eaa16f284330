import type { OutputToken } from '../../shared/generation.ts';

/** A token of a piece: what is known of it besides its text. */
export interface PieceToken {
  id: number;
  /** Gap to the token before, ms; absent for the first. */
  gapMs?: number;
  /** At temperature 1, from 0 to 1; absent unless it was asked for. */
  probability?: number;
}

/**
 * The shortest stretch of text that is known to come from certain tokens: most often one. Several where a character, or a possible stop string,
 * took more than one token before it could be shown; which part is whose is then not known.
 */
export interface TokenPiece {
  text: string;
  tokens: readonly PieceToken[];
  /** Place of its first token in the answer, from 1. */
  index: number;
  /** The longest gap of its tokens; absent if none has one. */
  gapMs?: number;
}

/** Pieces of a text that grows, in bounded memory: of a very long one, the first. */
export class TokenPieces {
  readonly #capacity: number;
  readonly #listeners = new Set<() => void>();
  readonly #pieces: TokenPiece[] = [];
  #waiting: PieceToken[] = [];
  #lastAtMs: number | undefined;
  #count = 0;
  #kept = 0;
  #closed = false;

  /** @param capacity - tokens that are kept */
  constructor(capacity = 4096) {
    this.#capacity = capacity;
  }

  get pieces(): readonly TokenPiece[] {
    return this.#pieces;
  }

  /** Tokens so far, those beyond the capacity among them. */
  get count(): number {
    return this.#count;
  }

  /** Tokens whose text is in `pieces`, or waits for its text. */
  get kept(): number {
    return this.#kept;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Takes what one delta brought: its text is of its tokens and of those before it that gave no text of their own. */
  append(text: string, tokens: readonly OutputToken[]): void {
    if (this.#closed) return;
    for (const token of tokens) this.#take(token);
    if (text === '' || (this.#waiting.length === 0 && this.#count > this.#kept)) return;
    const index = this.#kept - this.#waiting.length + 1;
    const gaps = this.#waiting.flatMap(({ gapMs }) => (gapMs === undefined ? [] : [gapMs]));
    this.#pieces.push({ text, tokens: this.#waiting, index, ...(gaps.length > 0 && { gapMs: Math.max(...gaps) }) });
    this.#waiting = [];
    this.#notify();
  }

  /** No more will come. */
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

  #take({ id, atMs, logprob }: OutputToken): void {
    this.#count += 1;
    const gapMs = this.#lastAtMs === undefined ? undefined : atMs - this.#lastAtMs;
    this.#lastAtMs = atMs;
    if (this.#kept >= this.#capacity) return;
    this.#kept += 1;
    this.#waiting.push({
      id,
      ...(gapMs !== undefined && { gapMs }),
      ...(logprob !== undefined && { probability: Math.exp(logprob) }),
    });
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
