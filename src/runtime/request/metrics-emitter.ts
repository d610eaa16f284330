import type { EngineEvents, EngineMetrics } from './engine.ts';

type Listener<Type extends keyof EngineEvents> = (event: EngineEvents[Type]) => void;

/** Hands events to listeners; a listener that throws is reported and does not disturb. */
export class MetricsEmitter implements EngineMetrics {
  readonly #listeners = new Map<keyof EngineEvents, Set<(event: never) => void>>();

  on<Type extends keyof EngineEvents>(type: Type, listener: Listener<Type>): () => void {
    // A wrapper of its own, so that the same function given twice is two subscriptions.
    const subscription: Listener<Type> = (event) => listener(event);
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(subscription));
    return () => {
      listeners.delete(subscription);
      if (listeners.size === 0 && this.#listeners.get(type) === listeners) this.#listeners.delete(type);
    };
  }

  /** `make` is called only if somebody listens: without a listener an event costs this one branch. */
  emit<Type extends keyof EngineEvents>(type: Type, make: () => EngineEvents[Type]): void {
    const listeners = this.#listeners.get(type);
    if (!listeners) return;
    const event = make();
    for (const listener of [...listeners]) {
      try {
        (listener as Listener<Type>)(event);
      } catch (error) {
        console.error('A listener of engine metrics threw', error);
      }
    }
  }
}
