import type { EngineName } from '../shared/engines.ts';
import type { PartUrls } from '../shared/parts.ts';
import type { ShareWorkers } from './share/membership.ts';

/*
 * Where workers and parts are, for a build of the sources: bundlers look for the literals `new Worker(new URL(...))`. The library build
 * takes `locate.dist.ts` in the place of this file.
 */

/** URLs of parts that the library's own modules do not find; none in a build of the sources. */
export const locateParts = (): Promise<PartUrls> => Promise.resolve({});

/** Why workers of this library cannot be shared between pages; undefined where they can. */
export const locateObstacle = (): string | undefined => undefined;

// eslint-disable-next-line @typescript-eslint/require-await -- the library build may have to fetch the worker first
export async function startEngineWorker(): Promise<Worker> {
  return new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module', name: 'tokenglass' });
}

/** Whether an engine can only run in the page's own thread. */
export const runsInPage = (_engine: EngineName): boolean => false;

export const shareWorkers: ShareWorkers = {
  connect: (name) => new SharedWorker(new URL('./engine.worker.ts', import.meta.url), { type: 'module', name }),
  startHost: () =>
    new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module', name: 'tokenglass-host' }),
};
