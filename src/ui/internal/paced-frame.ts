import { systemClock } from '../../shared/clock.ts';
import { FrameScheduler } from './frame-scheduler.ts';

/**
 * Runs one task in an animation frame, at most every `everyMs`, however often it is asked for; the last request is always served. Nothing
 * runs, and no timer is set, while nothing is asked for.
 */
export class PacedFrame {
  readonly #everyMs: () => number;
  readonly #frame: FrameScheduler;
  #ranMs = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(task: () => void, everyMs: () => number) {
    this.#everyMs = everyMs;
    this.#frame = new FrameScheduler(() => {
      this.#ranMs = systemClock.now();
      task();
    });
  }

  /** @param now in the next frame, whenever it ran last */
  request(now = false): void {
    const waitMs = now ? 0 : this.#ranMs + this.#everyMs() - systemClock.now();
    if (waitMs <= 0) {
      this.#dropTimer();
      this.#frame.request();
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#frame.request();
      }, waitMs);
    }
  }

  cancel(): void {
    this.#dropTimer();
    this.#frame.cancel();
  }

  #dropTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
