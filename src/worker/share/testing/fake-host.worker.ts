import { hostClients } from '../host-clients.ts';
import { createFake } from './fake-engine-factory.ts';

hostClients(globalThis, createFake);
