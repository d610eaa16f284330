import { measureNoise, NOISY_SPREAD } from '../../src/runtime/bench/machine-noise.ts';
import type { Note } from '../../src/runtime/bench/report.ts';

/** Keeps the screen awake while it is held: a phone that dims slows down. Browsers let go of it when the page is hidden. */
export class ScreenAwake {
  #lock: WakeLockSentinel | undefined;
  #wanted = false;
  #refused: string | undefined;
  readonly #onVisible = (): void => {
    if (this.#wanted && document.visibilityState === 'visible') void this.#request();
  };

  async hold(): Promise<void> {
    this.#wanted = true;
    this.#refused = undefined;
    document.addEventListener('visibilitychange', this.#onVisible);
    await this.#request();
  }

  /** Why the screen was not kept awake; absent if it was. */
  get refused(): string | undefined {
    return this.#refused;
  }

  async release(): Promise<void> {
    this.#wanted = false;
    document.removeEventListener('visibilitychange', this.#onVisible);
    await this.#lock?.release();
    this.#lock = undefined;
  }

  async #request(): Promise<void> {
    // Not in every browser, whatever the types say.
    const { wakeLock } = navigator as Partial<Pick<Navigator, 'wakeLock'>>;
    if (!wakeLock) {
      this.#refused = 'this browser cannot';
      return;
    }
    try {
      this.#lock = await wakeLock.request('screen');
    } catch (error) {
      this.#refused = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Compute Pressure API (Chrome 125): what the system says of its own load and heat. */
interface PressureObserverClass {
  new (listener: (records: readonly { state: string }[]) => void): {
    observe(source: 'cpu', options: { sampleInterval: number }): Promise<void>;
    disconnect(): void;
  };
}

/**
 * Looks after what the page and the machine do during a run; the function that comes back ends that, and says what a reader has to know.
 */
export function watchPage(awake: ScreenAwake): () => Note[] {
  const before = measureNoise().spread;
  let wasHidden = document.visibilityState === 'hidden';
  const onVisibility = (): void => void (wasHidden ||= document.visibilityState === 'hidden');
  document.addEventListener('visibilitychange', onVisibility);
  let isPressed = false;
  const { PressureObserver } = globalThis as { PressureObserver?: PressureObserverClass };
  const observer =
    PressureObserver &&
    new PressureObserver((records) => (isPressed ||= records.some(({ state }) => state === 'critical')));
  observer?.observe('cpu', { sampleInterval: 1000 }).catch(() => undefined); // a policy may forbid it
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    observer?.disconnect();
    const spread = Math.max(before, measureNoise().spread);
    const notes: (Note | false)[] = [
      spread > NOISY_SPREAD && {
        code: 'noisy-machine',
        message: `The machine is noisy: the same piece of work took ${spread.toFixed(1)} times as long at p95 as at p50, with no model running. Close what else runs.`,
      },
      isPressed && {
        code: 'pressure',
        message: 'The system reported critical CPU pressure during the run: it was near its limit, or too hot.',
      },
      wasHidden && {
        code: 'hidden-tab',
        message: 'The page was hidden for a part of the run; browsers slow timers of a hidden page down.',
      },
      awake.refused !== undefined && {
        code: 'no-wake-lock',
        message: `The screen could not be kept awake (${awake.refused}).`,
      },
    ];
    return notes.filter((note) => note !== false);
  };
}
