'use client';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { TokenglassError } from '../../shared/errors.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import {
  GenerationController,
  type GenerationResult,
  type GenerationState,
} from '../controllers/generation-controller.ts';
import { FrameScheduler } from '../internal/frame-scheduler.ts';

/** An answer as it grows. */
interface Snapshot {
  /** What has arrived of it. */
  text: string;
  /** Where it is: `idle`, `queued`, `prefill`, `streaming`, `done` or `error`. */
  state: GenerationState;
  /** True while it is made. */
  busy: boolean;
  /** Why it failed; undefined otherwise. */
  error: TokenglassError | undefined;
  /** How it ended: usage, finish reason and trace; undefined until then, and if it failed. */
  result: GenerationResult | undefined;
}

export interface Answer extends Snapshot {
  /**
   * Asks, by a question or by a whole request. An answer that is on is stopped first.
   *
   * @returns the result; undefined if it failed or if another question took its place
   * @throws TypeError if there is no engine yet
   */
  ask: (question: string | GenerateRequest) => Promise<GenerationResult | undefined>;
  /** Stops the answer that is on; what has arrived of it stays. */
  stop: () => void;
}

/** Redraws at most once a frame, however many tokens arrive. */
class AnswerStore {
  readonly #listeners = new Set<() => void>();
  readonly #frame = new FrameScheduler(() => this.#publish());
  readonly #generation: GenerationController;
  #text = '';
  #result: GenerationResult | undefined;
  #snapshot: Snapshot = { text: '', state: 'idle', busy: false, error: undefined, result: undefined };

  constructor() {
    const host = {
      addController: () => undefined,
      removeController: () => undefined,
      requestUpdate: () => this.#publish(),
      updateComplete: Promise.resolve(true),
    };
    this.#generation = new GenerationController(host, {
      onDelta: ({ text }) => {
        this.#text += text;
        this.#frame.request();
      },
      onEnd: ({ runId: _, ...result }) => {
        this.#result = result;
        this.#publish();
      },
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly read = (): Snapshot => this.#snapshot;

  readonly stop = (): void => this.#generation.stop();

  ask(engine: Engine | undefined, question: string | GenerateRequest): Promise<GenerationResult | undefined> {
    if (!engine)
      return Promise.reject(new TypeError('Cannot ask: there is no engine yet; wait for the one of useEngine'));
    this.#text = '';
    this.#result = undefined;
    const messages = [{ role: 'user' as const, content: question as string }];
    return this.#generation.run(engine, typeof question === 'string' ? { messages } : question);
  }

  #publish(): void {
    this.#frame.cancel();
    const { state, busy, error } = this.#generation;
    this.#snapshot = { text: this.#text, state, busy, error, result: this.#result };
    for (const listener of this.#listeners) listener();
  }
}

/**
 * One answer at a time, drawn as it grows. It is stopped when the component goes or the engine changes.
 *
 * @param engine - undefined while it is loaded, as {@link useEngine} gives it
 * @example
 * ```tsx
 * const { text, busy, ask, stop } = useAnswer(engine);
 * return <p onClick={() => (busy ? stop() : void ask('What is TTFT?'))}>{text}</p>;
 * ```
 */
export function useAnswer(engine: Engine | undefined): Answer {
  const [store] = useState(() => new AnswerStore());
  useEffect(() => () => store.stop(), [store, engine]);
  const snapshot = useSyncExternalStore(store.subscribe, store.read, store.read);
  return { ...snapshot, ask: (question) => store.ask(engine, question), stop: store.stop };
}
