/** The worker's entry: one LocalEngine behind the protocol. */
import { createLocalEngine } from '../runtime/load/create-local-engine.ts';
import { exposeEngine } from './host.ts';

exposeEngine(globalThis as unknown as Parameters<typeof exposeEngine>[0], createLocalEngine);
