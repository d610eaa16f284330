import { startSwitchboard, type SharedWorkerScope } from '../start-switchboard.ts';
import { createFake } from './fake-engine-factory.ts';

startSwitchboard(globalThis as unknown as SharedWorkerScope, createFake, () => Promise.resolve('tab'));
