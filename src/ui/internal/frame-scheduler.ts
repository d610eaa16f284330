/** Runs one task at most once per animation frame, however often it is asked for. */
export class FrameScheduler {
  readonly #task: () => void;
  #handle: number | undefined;

  constructor(task: () => void) {
    this.#task = task;
  }

  get pending(): boolean {
    return this.#handle !== undefined;
  }

  request(): void {
    this.#handle ??= requestAnimationFrame(() => {
      this.#handle = undefined;
      this.#task();
    });
  }

  /** Runs the task now if it is due. A hidden page gets no frames, so what must not wait for one is flushed. */
  flush(): void {
    if (!this.pending) return;
    this.cancel();
    this.#task();
  }

  cancel(): void {
    if (this.#handle !== undefined) cancelAnimationFrame(this.#handle);
    this.#handle = undefined;
  }
}
