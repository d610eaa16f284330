import { TokenglassError } from '../../../shared/errors.ts';

export interface WatchdogOptions {
  /** A device that answers nothing for so long while it is waited for is taken for dead. @default 60,000; 600,000 on a software adapter */
  limitMs?: number;
  /** Calls `tick` again and again, `ms` apart, until what it returns is called. @default by `setInterval` */
  every?: (ms: number, tick: () => void) => () => void;
}

/** Parts that the limit is cut into. */
const TICKS = 4;

/**
 * Notices a GPU that hangs: no readback comes back, and no loss is told either. It is waiting time without any answer that counts, not the age
 * of a call, since work is done in order and many steps may be in flight. Time is counted in ticks, so that a machine that slept, or a hidden
 * tab whose timers are slowed, is not taken for a dead device.
 */
export class Watchdog {
  readonly #limitMs: number;
  readonly #every: NonNullable<WatchdogOptions['every']>;
  readonly #onStuck: (error: TokenglassError) => void;
  /**
   * By call: what it is for, and how to end it. Not `Promise.race` with one promise for the end: each race would stay on that promise's list
   * for as long as the device lives.
   */
  readonly #waiting = new Map<symbol, { what: string; reject: (error: Error) => void }>();
  #stop: (() => void) | undefined;
  #ticks = 0;
  #end: Error | undefined;

  constructor(limitMs: number, onStuck: (error: TokenglassError) => void, every = everyInterval) {
    this.#limitMs = limitMs;
    this.#every = every;
    this.#onStuck = onStuck;
  }

  /**
   * The result of a call into the device; rejects with `watchdog` once the device is taken for dead, or with what else ended it.
   * @param what for the message: "Cannot <what>"
   */
  watch<T>(what: string, call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#end) reject(this.#end);
      const id = Symbol(what);
      if (this.#waiting.size === 0) this.#ticks = 0;
      this.#waiting.set(id, { what, reject });
      // The timer goes on from step to step, and ends at the first tick at which nothing is waited for.
      this.#stop ??= this.#every(this.#limitMs / TICKS, () => this.#tick());
      const answered = (): void => {
        this.#waiting.delete(id);
        this.#ticks = 0;
      };
      call.finally(answered).then(resolve, reject);
    });
  }

  /** Rejects everything that waits, now and later: a lost device may never answer. */
  end(error: Error): void {
    this.#end ??= error;
    const waiting = [...this.#waiting.values()];
    this.stop();
    for (const { reject } of waiting) reject(error);
  }

  /** Ends the timer; what waits goes on waiting. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#waiting.clear();
  }

  #tick(): void {
    const [first] = this.#waiting.values();
    if (!first) {
      this.stop();
      return;
    }
    this.#ticks += 1;
    // The first tick may come right after the call.
    if (this.#ticks <= TICKS) return;
    const error = new TokenglassError(
      'watchdog',
      `Cannot ${first.what}: the GPU did not answer within ${this.#limitMs} ms; load the model again`,
      { details: { watchdogMs: this.#limitMs } },
    );
    this.#onStuck(error);
    this.end(error);
  }
}

function everyInterval(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms);
  // In Node it must not keep the process alive.
  if (typeof timer === 'object') (timer as { unref?: () => void }).unref?.();
  return () => clearInterval(timer);
}
