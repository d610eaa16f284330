import { engineContract } from '../runtime/engine/testing/engine-contract.ts';
import { connectEngine } from './client.ts';

engineContract('worker client', () => {
  const worker = new Worker(new URL('./testing/fake.worker.ts', import.meta.url), { type: 'module' });
  return connectEngine(worker, { model: 'paced' }, { onClosed: () => worker.terminate() });
});
