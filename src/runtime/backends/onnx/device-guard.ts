import { TokenglassError } from '../../../shared/errors.ts';

/**
 * Stands between a backend and its device: everything that waits for the device is rejected at once when the device is lost, and
 * when a call does not come back in time.
 */
export class DeviceGuard {
  readonly #watchdogMs: number;
  readonly #onStuck: (error: Error) => void;
  readonly #waiting = new Set<(error: Error) => void>();
  #error: Error | undefined;
  #pending = 0;

  /**
   * @param watchdogMs a call that takes longer is taken for dead
   * @param onStuck told when a call is pending that will never return
   */
  constructor(watchdogMs: number, onStuck: (error: Error) => void = () => undefined) {
    this.#watchdogMs = watchdogMs;
    this.#onStuck = onStuck;
  }

  /** Resolves, once, with the error that ended the device. */
  readonly lost: Promise<Error> = new Promise((resolve) => this.#waiting.add(resolve));

  /** What ended the device; undefined while it lives. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Set before the device is destroyed on purpose: what ends then is no loss. */
  isReleased = false;

  /** True while a call into the device has not returned, also after the device was lost. */
  get isPending(): boolean {
    return this.#pending > 0;
  }

  lose(error: Error): void {
    if (this.#error || this.isReleased) return;
    this.#error = error;
    if (this.isPending) this.#onStuck(error);
    for (const tell of this.#waiting) tell(error);
    this.#waiting.clear();
  }

  /** `work`, or a rejection as soon as the device is lost. */
  race<T>(work: Promise<T>): Promise<T> {
    // Not Promise.race with `lost`: each race would stay on the list of that promise for as long as the device lives.
    return new Promise<T>((resolve, reject) => {
      if (this.#error) reject(this.#error);
      this.#waiting.add(reject);
      work.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    });
  }

  /** A call into the device, under the watchdog. */
  async call<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#error) throw this.#error;
    const timer = setTimeout(() => {
      const message = `Cannot ${what}: the device did not answer within ${this.#watchdogMs} ms; load the model again`;
      this.lose(new TokenglassError('watchdog', message, { details: { watchdogMs: this.#watchdogMs } }));
    }, this.#watchdogMs);
    this.#pending += 1;
    // Counted down when the call itself ends: a lost race does not make it end.
    const running = work().finally(() => (this.#pending -= 1));
    running.catch(() => undefined);
    try {
      return await this.race(running);
    } finally {
      clearTimeout(timer);
    }
  }
}
