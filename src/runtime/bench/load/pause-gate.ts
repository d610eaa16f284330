import { abortError } from '../../../shared/errors.ts';
import type { Timer } from './timer.ts';

/**
 * Holds a run back: while it is shut no request is sent, and what was planned for later is planned that much later. Requests that run are
 * not touched.
 */
export class PauseGate {
  readonly #timer: Timer;
  #pausedAtMs: number | undefined;
  #totalMs = 0;
  #waiting: (() => void)[] = [];

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  get isPaused(): boolean {
    return this.#pausedAtMs !== undefined;
  }

  /** All pauses so far, ms; one that goes on included. */
  get totalMs(): number {
    return this.#totalMs + (this.#pausedAtMs === undefined ? 0 : this.#timer.now() - this.#pausedAtMs);
  }

  pause(): void {
    this.#pausedAtMs ??= this.#timer.now();
  }

  resume(): void {
    this.#totalMs = this.totalMs;
    this.#pausedAtMs = undefined;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when `atMs`, moved by the pauses since `totalMs` was `before`, has come and nothing is paused. @returns the moved time */
  async sleepUntil(atMs: number, before: number, signal?: AbortSignal): Promise<number> {
    for (;;) {
      const dueMs = atMs + this.#totalMs - before;
      await this.#timer.sleepUntil(dueMs, signal);
      if (!this.isPaused && dueMs === atMs + this.#totalMs - before) return dueMs;
      await this.#opened(signal);
    }
  }

  #opened(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isPaused) {
        resolve();
        return;
      }
      const abort = (): void => reject(abortError(signal));
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.push(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
    });
  }
}
