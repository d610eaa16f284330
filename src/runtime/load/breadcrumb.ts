import { smallerModel } from '../models/fit-check.ts';
import type { ModelStore } from '../models/store/model-store.ts';

/** A load that a killed tab (out of memory, a crash) did not end. */
export interface InterruptedLoad {
  model: string;
  /** Unix epoch. */
  startedAtMs: number;
  /** A smaller model of the catalog, to be offered instead; absent if there is none. */
  smallerModel?: string;
}

/** A mark that a load has left. */
export interface Breadcrumb {
  /** Adds how many bytes of weights the model has, once that is known. */
  note(bytes: number): void;
  /** To be called once the load has ended; never rejects. */
  remove(): Promise<void>;
}

/**
 * Leaves a mark "loading this model" until the load ends, in success or failure. The mark is a row in IndexedDB (loads run in workers, which
 * have no localStorage) and a Web Lock of the same name, which the browser releases when the tab dies: a row without its lock is what a
 * killed tab left, a row with it is a load in another tab.
 */
export async function leaveBreadcrumb(store: ModelStore, model: string): Promise<Breadcrumb> {
  const { internals } = store;
  const { database, clock } = internals;
  const id = crypto.getRandomValues(new Uint32Array(3)).join('-');
  try {
    const lock = await internals.lockName(LOCK_PREFIX + id);
    const row = { id, model, startedAtMs: clock.now() };
    let writing = database.putLoading(row);
    await writing;
    let isRemoved = false;
    return {
      note: (bytes) => {
        if (isRemoved) return;
        writing = writing.then(() => database.putLoading({ ...row, bytes })).catch(() => undefined);
      },
      remove: async () => {
        isRemoved = true;
        await writing;
        await database.deleteLoading(id).catch(() => undefined);
        lock.release();
      },
    };
  } catch {
    // Where nothing can be stored, nothing can be remembered.
    return { note: () => undefined, remove: () => Promise.resolve() };
  }
}

/**
 * Loads that never ended, the latest first; each is told once. A page asks at its start, before it loads a model again that may have
 * been too much for the device. A tab that was closed in the middle of a load is told too: from the outside it looks the same.
 *
 * @param only of this model; the others stay to be told
 */
export async function takeInterruptedLoads(store: ModelStore, only?: string): Promise<InterruptedLoad[]> {
  const { internals } = store;
  const { database } = internals;
  try {
    const rows = (await database.listLoading()).filter(({ model }) => only === undefined || model === only);
    const held = rows.length === 0 ? new Set() : await internals.heldLockNames();
    const left = rows.filter(({ id }) => !held.has(LOCK_PREFIX + id));
    for (const { id } of left) await database.deleteLoading(id);
    return left
      .toSorted((a, b) => b.startedAtMs - a.startedAtMs)
      .map(({ model, startedAtMs, bytes }) => {
        const smaller = smallerModel(model, { ownBytes: bytes });
        return { model, startedAtMs, ...(smaller !== undefined && { smallerModel: smaller }) };
      });
  } catch {
    return [];
  }
}

const LOCK_PREFIX = 'loading:';
