import { abortError } from '../../../shared/errors.ts';
import type { Timer } from '../load/timer.ts';

interface Sleeper {
  atMs: number;
  order: number;
  wake: () => void;
}

/**
 * Time that passes only when everything waits: it then jumps to the next moment that somebody sleeps until. Sleepers of one moment wake
 * one by one, in the order in which they fell asleep.
 */
export class VirtualTimer implements Timer {
  #nowMs: number;
  #sleepers: Sleeper[] = [];
  #order = 0;
  #running = false;
  readonly #channel = new MessageChannel();
  #turn: (() => void) | undefined;

  constructor(startMs = 1000) {
    this.#nowMs = startMs;
    this.#channel.port1.onmessage = () => this.#turn?.();
  }

  /** Sleepers now; 0 when nothing was left behind. */
  get pending(): number {
    return this.#sleepers.length;
  }

  now(): number {
    return this.#nowMs;
  }

  sleepUntil(atMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(abortError(signal));
    if (atMs <= this.#nowMs) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const sleeper: Sleeper = {
        atMs,
        order: this.#order++,
        wake: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(abortError(signal));
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#sleepers.push(sleeper);
      void this.#run();
    });
  }

  close(): void {
    this.#channel.port1.close();
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (;;) {
      await this.#settled();
      if (this.#sleepers.length === 0) break;
      let next = this.#sleepers[0]!;
      for (const sleeper of this.#sleepers)
        if (sleeper.atMs < next.atMs || (sleeper.atMs === next.atMs && sleeper.order < next.order)) next = sleeper;
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    this.#running = false;
  }

  /** Microtasks run out before a task begins. */
  #settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#turn = resolve;
      this.#channel.port2.postMessage(undefined);
    });
  }
}
