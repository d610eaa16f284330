import { systemClock, type Clock } from '../../shared/clock.ts';
import { percentile } from '../../runtime/metrics/percentile.ts';

/** Frames that are remembered. */
const FRAMES = 8;

/**
 * What a drawing costs the main thread: from its animation frame callback to the task after style, layout and paint of that frame. The median of
 * the latest {@link FRAMES}: work of others now and then in the same frame, and a thread that was not let run, do not count.
 */
export class FrameCost {
  readonly #clock: Clock;
  readonly #startsMs: number[] = [];
  #costsMs: number[] = [];
  #medianMs: number | undefined;
  #channel: MessageChannel | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Absent before the first frame has ended. */
  get ms(): number | undefined {
    return this.#medianMs;
  }

  /** To be called at the beginning of the animation frame callback that draws. */
  measure(): void {
    if (!this.#channel) {
      this.#channel = new MessageChannel();
      this.#channel.port1.onmessage = () => this.#ended();
    }
    this.#startsMs.push(this.#clock.now());
    this.#channel.port2.postMessage(undefined);
  }

  /** Lets go of what is measured; `measure` begins anew. */
  stop(): void {
    this.#channel?.port1.close();
    this.#channel = undefined;
    this.#startsMs.length = 0;
  }

  #ended(): void {
    const startMs = this.#startsMs.shift();
    if (startMs === undefined) return;
    this.#costsMs = [...this.#costsMs.slice(1 - FRAMES), this.#clock.now() - startMs];
    // Here, and not when it is asked for: that is at every token.
    this.#medianMs = percentile(this.#costsMs, 50);
  }
}
