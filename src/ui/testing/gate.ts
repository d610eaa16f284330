import { abortError } from '../../shared/errors.ts';

/** Lets a scripted answer go on token by token, when the test says so. */
export class Gate {
  #open = 0;
  #waiting: (() => void) | undefined;

  /** Lets that many more tokens through. */
  release(count = 1): void {
    this.#open += count;
    this.#waiting?.();
  }

  /** To be given as `pace` of a scripted answer. */
  readonly pace = async (_index: number, signal: AbortSignal | undefined): Promise<void> => {
    while (this.#open === 0) {
      if (signal?.aborted) throw abortError(signal);
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
        signal?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    this.#open -= 1;
  };
}
