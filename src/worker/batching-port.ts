import type { FromHost, FromHostBatch } from './protocol.ts';

/**
 * Sends everything that is posted within one task as one message, in order. The flush is a microtask: no timer stands in the
 * path of a token (a hidden tab throttles timers).
 */
export class BatchingPort {
  readonly #port: MessagePort;
  #batch: FromHost[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  post(message: FromHost): void {
    this.#batch.push(message);
    if (this.#batch.length === 1) queueMicrotask(() => this.flush());
  }

  flush(): void {
    if (this.#batch.length === 0) return;
    const batch: FromHostBatch = this.#batch;
    this.#batch = [];
    this.#port.postMessage(batch);
  }
}
