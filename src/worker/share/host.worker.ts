/** The entry of a tab's worker that hosts a shared engine. */
import { createLocalEngine } from '../../runtime/load/create-local-engine.ts';
import { hostClients } from './host-clients.ts';

hostClients(globalThis, createLocalEngine);
