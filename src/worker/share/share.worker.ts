/** The SharedWorker's entry: connects pages to one engine, and runs it where it can. */
import { choosePlace } from './choose-place.ts';
import { startSwitchboard, type SharedWorkerScope } from './start-switchboard.ts';

startSwitchboard(
  globalThis as unknown as SharedWorkerScope,
  async (options) => {
    // Most often the engine runs in a tab, and this thread needs none of its code.
    const { createLocalEngine } = await import('../../runtime/load/create-local-engine.ts');
    return createLocalEngine(options);
  },
  choosePlace,
);
