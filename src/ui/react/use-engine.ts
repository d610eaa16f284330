'use client';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Engine } from '../../runtime/request/engine.ts';
import type { LoadProgress } from '../../shared/info.ts';
import type { CreateEngineOptions, OpenAiEngine } from '../../worker/create-engine.ts';
import { EngineLoader, type LoaderState } from '../controllers/engine-loader.ts';

/** As `createEngine` takes them; the hook has its own signal, and tells the progress in its state. */
export interface UseEngineOptions extends Omit<CreateEngineOptions, 'signal' | 'onProgress'> {
  /** How the engine is made. @default `createEngine` of this package */
  createEngine?: (options: CreateEngineOptions) => Promise<Engine>;
}

export interface EngineState extends LoaderState {
  /** With OpenAI's API on it; undefined until the model is loaded. */
  engine?: OpenAiEngine;
  /** Undefined unless the model is being loaded. */
  progress?: LoadProgress;
  /** Loads again what failed. */
  retry: () => void;
}

const createByDefault = async (options: CreateEngineOptions): Promise<Engine> => {
  const { createEngine } = await import('../../worker/create-engine.ts');
  return createEngine(options);
};

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Options that are written alike are the same; a file, a worker or a `gpu` object is the same only as itself. */
function keyOf(options: UseEngineOptions): string {
  return JSON.stringify(options, (_, value: unknown) => {
    if (typeof value === 'function') return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    if (Object.getPrototypeOf(value) === Object.prototype) return value;
    const identity = identities.get(value) ?? (lastIdentity += 1);
    identities.set(value, identity);
    return `object ${identity}`;
  });
}

/**
 * An engine for as long as the component is mounted. Other options load another one in its place; a double mount (StrictMode) loads
 * once. Nothing is loaded on a server.
 *
 * @param options - undefined while no engine is wanted
 * @returns the engine, or the progress of its load, or the error it ended with
 * @example
 * ```tsx
 * const { engine, progress, error, retry } = useEngine({ model: 'tutor' });
 * if (error) return <button onClick={retry}>{error.message}</button>;
 * if (!engine) return <p>{progress?.label}</p>;
 * return <Chat engine={engine} />;
 * ```
 */
export function useEngine(options: UseEngineOptions | undefined): EngineState {
  const key = options && keyOf(options);
  const [attempt, setAttempt] = useState(0);
  const [{ of, state }, setState] = useState<{ of?: string | undefined; state: LoaderState }>({ state: {} });
  const latest = useRef(options);
  /** The memory of an engine is given back before the next one asks for its own. */
  const ended = useRef<Promise<unknown>>(Promise.resolve());
  useEffect(() => {
    latest.current = options;
  });

  useEffect(() => {
    let isCurrent = key !== undefined;
    const create = (given: CreateEngineOptions): Promise<Engine> =>
      (latest.current?.createEngine ?? createByDefault)(given);
    const loader = new EngineLoader(create, (next) => {
      if (isCurrent) setState({ of: key, state: next });
    });
    // A mount that is taken back at once, as StrictMode does, has loaded nothing by then.
    void ended.current.then(() => {
      if (!isCurrent || !latest.current) return;
      const { createEngine: _, ...load } = latest.current;
      loader.load(load).catch(() => undefined); // the state has the error
    });
    return () => {
      isCurrent = false;
      ended.current = loader.dispose().catch(() => undefined);
    };
  }, [key, attempt]);

  const retry = useCallback(() => setAttempt((before) => before + 1), []);
  // What is of other options is being disposed of.
  return { ...((of === key ? state : {}) as Omit<EngineState, 'retry'>), retry };
}
