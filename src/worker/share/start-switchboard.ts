import { randomId } from '../../shared/random-id.ts';
import { holdAliveLock } from '../alive.ts';
import type { EngineFactory } from '../host.ts';
import type { SharePlace } from './protocol.ts';
import { connectLockOf } from './protocol.ts';
import { serveClients } from './serve-clients.ts';
import { Switchboard } from './switchboard.ts';

/** The part of a SharedWorker's global scope that is used. */
export interface SharedWorkerScope {
  name: string;
  onconnect: ((event: MessageEvent) => void) | null;
  close(): void;
}

/** Makes a SharedWorker a switchboard, which closes when its last client has left. */
export function startSwitchboard(
  scope: SharedWorkerScope,
  createEngine: EngineFactory,
  choosePlace: (join: { engine: string; hasThreads: boolean }) => Promise<SharePlace>,
): void {
  const lock = `tokenglass-switchboard-${randomId()}`;
  const isHeld = holdAliveLock(lock);
  const switchboard = new Switchboard({
    lock,
    serveHere: serveClients(createEngine),
    choosePlace,
    onEmpty: () => void closeIfUnused(),
  });
  const closeIfUnused = (): Promise<void> =>
    navigator.locks.request(connectLockOf(scope.name), { ifAvailable: true }, async (alone) => {
      if (!alone || switchboard.isUsed) return;
      scope.close();
      await new Promise(() => undefined); // until the thread is gone: who connects then gets another one
    });
  scope.onconnect = ({ ports }) => void isHeld.then(() => switchboard.connect(ports[0]!));
}
