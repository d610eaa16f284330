import { whenDead } from '../alive.ts';
import { exposeLease, type EngineFactory } from '../host.ts';
import { EngineLeases } from './engine-leases.ts';

/** Serves one engine to clients that come over ports; each of them as if it had the engine for itself. */
export function serveClients(createEngine: EngineFactory): (port: MessagePort, lock: string) => void {
  const leases = new EngineLeases(createEngine);
  return (port, lock) => {
    const closed = new AbortController();
    const end = exposeLease(port, (request) => leases.acquire(request), {
      onDisposed: () => closed.abort(),
    });
    // A tab that is closed says nothing; its requests end with its lock.
    whenDead(lock, closed.signal, () => void end());
    port.start();
  };
}
