/**
 * The entry of every worker of this library, told apart by what it is and by its name: a SharedWorker connects pages to one engine, a
 * `tokenglass-host` hosts a shared engine in a tab, a thread of the CPU engine computes for the worker that started it, and any other has one
 * engine for the page that started it. One file, because a page that is built elsewhere has to find it, and bundlers treat two files in two
 * ways: who could start this one can start all.
 */
import { THREAD_NAME, serveThread } from '../runtime/backends/wasm/threads.ts';
import { createLocalEngine } from '../runtime/load/create-local-engine.ts';
import { exposeEngine } from './host.ts';
import { choosePlace } from './share/choose-place.ts';
import { hostClients } from './share/host-clients.ts';
import { startSwitchboard, type SharedWorkerScope } from './share/start-switchboard.ts';

const scope: unknown = globalThis;
const { name } = scope as { name?: string };

if ('SharedWorkerGlobalScope' in globalThis)
  startSwitchboard(scope as SharedWorkerScope, createLocalEngine, choosePlace);
else if (name === THREAD_NAME) serveThread(globalThis);
else if (name === 'tokenglass-host') hostClients(globalThis, createLocalEngine);
else exposeEngine(scope as Parameters<typeof exposeEngine>[0], createLocalEngine);
