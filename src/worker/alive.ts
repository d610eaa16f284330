/**
 * Death of a worker leaves no event when it is terminated, closes itself or is killed by the browser. A Web Lock does: the worker
 * holds it for life, the page waits for it, and getting it means that the worker is gone. No timer, no heartbeat.
 */

/** Held by the worker for ever; resolves once it is held. Resolves at once where there are no Web Locks. */
export function holdAliveLock(name: string): Promise<void> {
  return new Promise((resolve) => {
    if (!('locks' in navigator)) {
      resolve();
      return;
    }
    navigator.locks.request(name, () => (resolve(), new Promise<never>(() => undefined))).catch(() => resolve());
  });
}

/** Calls `onDeath` once when the lock's holder is gone; never after `signal` is aborted. */
export function whenDead(name: string, signal: AbortSignal, onDeath: () => void): void {
  if (!('locks' in navigator)) return;
  navigator.locks.request(name, { signal }, () => onDeath()).catch(() => undefined); // aborted: no longer of interest
}

/** Holds a lock until the returned function is called, or this realm is gone; resolves once it is held. */
export function holdLock(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = (): Promise<void> => new Promise((release) => resolve(release));
    navigator.locks.request(name, held).catch(reject);
  });
}
