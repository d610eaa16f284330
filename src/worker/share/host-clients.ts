import { holdAliveLock } from '../alive.ts';
import type { EngineFactory } from '../host.ts';
import type { HostStart, ToHostThread } from './protocol.ts';
import { serveClients } from './serve-clients.ts';

/** The part of a worker's global scope that is used. */
export interface HostScope {
  onmessage: ((event: MessageEvent<HostStart>) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

/** Makes a worker of a tab the host of a shared engine: for the clients that the switchboard sends, until it says that nobody is left. */
export function hostClients(scope: HostScope, createEngine: EngineFactory): void {
  scope.onmessage = ({ data: { control, lock } }) => {
    scope.onmessage = null;
    const serve = serveClients(createEngine);
    control.onmessage = ({ data }: MessageEvent<ToHostThread>) => {
      if (data.type === 'client') serve(data.port, data.lock);
      else scope.close();
    };
    // Whoever waits for the lock before it is held would take this worker for dead.
    void holdAliveLock(lock).then(() => scope.postMessage('ready'));
  };
}
