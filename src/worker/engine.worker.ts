/**
 * The worker's entry: one LocalEngine behind the protocol. The CPU engine starts the same file again for each of its threads, under a name of
 * their own: so a page that could start this worker can start those, wherever its bundler has put the file.
 */
import { THREAD_NAME, serveThread } from '../runtime/backends/wasm/threads.ts';
import { createLocalEngine } from '../runtime/load/create-local-engine.ts';
import { exposeEngine } from './host.ts';

if ((globalThis as { name?: string }).name === THREAD_NAME) serveThread(globalThis);
else exposeEngine(globalThis as unknown as Parameters<typeof exposeEngine>[0], createLocalEngine);
