import { abortError } from '../../../shared/errors.ts';

/** A lock that is held until it is released or the tab ends. */
export interface HeldLock {
  /** Once more is harmless. */
  release(): void;
}

/**
 * Takes an exclusive Web Lock, waiting for as long as another tab or worker holds it.
 *
 * @param locks absent where there are none (insecure contexts): then nothing keeps two tabs apart, and nothing waits
 * @param onWait called if another one holds it
 * @throws AbortError
 */
export async function acquireLock(
  locks: LockManager | undefined,
  name: string,
  { signal, onWait }: { signal?: AbortSignal | undefined; onWait?: () => void } = {},
): Promise<HeldLock> {
  if (signal?.aborted) throw abortError(signal);
  if (!locks) return { release: () => undefined };
  const atOnce = await request(locks, name, { ifAvailable: true });
  if (atOnce) return atOnce;
  onWait?.();
  try {
    // Not undefined, since it waits.
    return (await request(locks, name, signal ? { signal } : {})) as HeldLock;
  } catch (error) {
    if (signal?.aborted) throw abortError(signal);
    throw error;
  }
}

/** Takes a shared lock, which keeps nobody out, but shows others that something is in use. */
export async function markInUse(locks: LockManager | undefined, name: string): Promise<HeldLock> {
  if (!locks) return { release: () => undefined };
  return (await request(locks, name, { mode: 'shared' })) as HeldLock;
}

/** Names of the locks that are held now, by any tab of this origin. */
export async function heldLocks(locks: LockManager | undefined): Promise<Set<string>> {
  const { held = [] } = (await locks?.query()) ?? {};
  return new Set(held.flatMap(({ name }) => (name === undefined ? [] : [name])));
}

function request(locks: LockManager, name: string, options: LockOptions): Promise<HeldLock | undefined> {
  return new Promise((resolve, reject) => {
    locks
      .request(name, options, (lock) => {
        if (!lock) {
          resolve(undefined);
          return undefined;
        }
        return new Promise<void>((release) => resolve({ release }));
      })
      .catch(reject);
  });
}
