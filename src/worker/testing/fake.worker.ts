/** A worker whose engine is a scripted one; the model's name says how it behaves. */
import { TokenglassError } from '../../shared/errors.ts';
import { createFakeEngine } from '../../runtime/engine/testing/fake-engine.ts';
import { exposeEngine } from '../host.ts';

const CAUSE = new TokenglassError('network', 'Cannot fetch: 503', { details: { status: 503 } });

exposeEngine(globalThis as unknown as Parameters<typeof exposeEngine>[0], async ({ model, onProgress, signal }) => {
  onProgress({ phase: 'download', loadedBytes: 1, totalBytes: 2, label: 'fake' });
  if (model === 'fails')
    throw new TokenglassError('model-invalid', 'Cannot load: it is a test', { cause: CAUSE, details: { path: 'x' } });
  if (model === 'loads-for-ever')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  if (model === 'dies-loading') {
    self.close();
    await new Promise(() => undefined);
  }
  // Without a failure of its own, every step takes a task, so that messages have a chance to come between; a paced one takes as long as messages do.
  const isManual = model === 'stalls' || model === 'paced';
  const { engine, backend } = createFakeEngine({ completion: isManual ? 'manual' : 'task', contextTokens: 4096 });
  if (model === 'paced') setInterval(() => backend.complete(), 4);
  if (model === 'throws-later') setTimeout(() => reportError(new TypeError('an uncaught error')), 50);
  return engine;
});
