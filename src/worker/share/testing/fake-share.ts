import type { Engine } from '../../../runtime/request/engine.ts';
import type { ShareWorkers } from '../membership.ts';
import { shareEngine, type ShareOptions } from '../share-engine.ts';

/** Workers of this page that host, so that a test can kill one. */
export const startedHosts: Worker[] = [];

const workers: ShareWorkers = {
  connect: (name) => new SharedWorker(new URL('./fake-share.worker.ts', import.meta.url), { type: 'module', name }),
  startHost: () => {
    const worker = new Worker(new URL('./fake-host.worker.ts', import.meta.url), { type: 'module' });
    startedHosts.push(worker);
    return worker;
  },
};

/** A client of a scripted engine. */
export const shareFake = (
  model: string,
  share: ShareOptions = {},
  options: Parameters<typeof shareEngine>[2] & { contextTokens?: number } = {},
): Promise<Engine> => {
  const { contextTokens, ...told } = options;
  return shareEngine({ model, ...(contextTokens !== undefined && { contextTokens }) }, share, told, workers);
};
