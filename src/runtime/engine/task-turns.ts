/**
 * Keeps a loop of promises from starving the event loop. A backend that computes on the calling thread (WASM without a worker of its own)
 * settles its promises without ever leaving the microtask queue, and then no abort message and no redraw would get through. A
 * MessageChannel, as timers are throttled in hidden tabs.
 */
export class TaskTurns {
  readonly #channel = new MessageChannel();
  #passed = false;
  #waiting: (() => void) | undefined;

  constructor() {
    this.#channel.port1.onmessage = () => {
      this.#passed = true;
      this.#waiting?.();
    };
    this.#ask();
  }

  /**
   * Resolves when at least one task has run on this thread since the previous call (the first time: since it was made): at once
   * if the loop has waited for one anyway (a GPU readback, say).
   */
  async next(): Promise<void> {
    if (!this.#passed) await new Promise<void>((resolve) => (this.#waiting = resolve));
    this.#waiting = undefined;
    this.#ask();
  }

  /** An open port keeps Node from exiting. */
  close(): void {
    this.#channel.port1.close();
  }

  #ask(): void {
    this.#passed = false;
    this.#channel.port2.postMessage(undefined);
  }
}
