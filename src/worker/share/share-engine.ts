import type { LoadProgress } from '../../shared/info.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import type { LoadOptions } from '../protocol.ts';
import type { ShareWorkers } from './membership.ts';
import type { SharePlace } from './protocol.ts';
import { shareKey } from './share-key.ts';
import { createSharedEngine } from './shared-engine.ts';
import { locateObstacle, shareWorkers } from '../locate.ts';

export interface ShareOptions {
  /**
   * Pages that give the same name share one engine, and must ask for the same options. @default the options: those who ask for the same ones
   * share
   */
  name?: string;
  /**
   * `shared-worker`: in a SharedWorker, which outlives each tab. `tab`: in a worker of the tab that came first, from which another takes over
   * when it is closed. Counts for the one who comes first. @default 'shared-worker' where WebGPU is there, or no threads are to be had in a tab; else 'tab'
   */
  place?: SharePlace;
}

/** Why engines cannot be shared here; undefined where they can. */
export function shareObstacle(): string | undefined {
  if (typeof SharedWorker === 'undefined') return 'this browser has no SharedWorker';
  if (!('locks' in navigator)) return 'the page is not served over https or from localhost';
  return locateObstacle();
}

/** Loads an engine that other pages of this origin share, or attaches to it. */
export function shareEngine(
  load: LoadOptions,
  { name, place }: ShareOptions,
  options: { onProgress?: (progress: LoadProgress) => void; signal?: AbortSignal },
  workers: ShareWorkers = shareWorkers,
): Promise<Engine> {
  const optionsKey = shareKey(load);
  const hasThreads = globalThis.crossOriginIsolated && navigator.hardwareConcurrency > 1 && load.threads !== 1;
  return createSharedEngine({
    ...options,
    load,
    name: name === undefined ? `tokenglass ${optionsKey}` : `tokenglass-named ${name}`,
    join: { optionsKey, engine: load.engine ?? 'auto', hasThreads, ...(place && { place }) },
    workers,
  });
}
