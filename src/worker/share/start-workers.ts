import type { ShareWorkers } from './membership.ts';

/** The literals `new SharedWorker(new URL(...))` and `new Worker(new URL(...))` are what bundlers look for. */
export const shareWorkers: ShareWorkers = {
  connect: (name) => new SharedWorker(new URL('./share.worker.ts', import.meta.url), { type: 'module', name }),
  startHost: () => new Worker(new URL('./host.worker.ts', import.meta.url), { type: 'module', name: 'tokenglass' }),
};
