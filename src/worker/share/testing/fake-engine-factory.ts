import { createFakeEngine } from '../../../runtime/engine/testing/fake-engine.ts';
import { TokenglassError } from '../../../shared/errors.ts';
import type { EngineFactory } from '../../host.ts';

/** A scripted engine whose model's name says how it behaves; each one that is made is counted in a channel of that name. */
export const createFake: EngineFactory = ({ model, onProgress, signal }) => {
  const name = typeof model === 'string' ? model : '';
  const channel = new BroadcastChannel(`made ${name}`);
  channel.postMessage('made');
  channel.close();
  onProgress({ phase: 'download', loadedBytes: 1, totalBytes: 2, label: 'fake' });
  if (name.startsWith('fails')) throw new TokenglassError('model-invalid', 'Cannot load: it is a test');
  if (name.startsWith('dies-loading')) self.close();
  if (name.startsWith('dies') || name.startsWith('loads-for-ever'))
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const isPaced = name.startsWith('contract');
  const { engine, backend } = createFakeEngine({
    completion: isPaced ? 'manual' : 'task',
    contextTokens: 4096,
    capabilities: { maxBatch: 4 },
  });
  // Steps that take as long as a message between processes: aborts have a chance to come between.
  if (isPaced) setInterval(() => backend.complete(), 4);
  return Promise.resolve(engine);
};
