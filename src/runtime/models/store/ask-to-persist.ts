import { createModelStore, hasIndexedDb } from './model-store.ts';

/** `ModelStore.persist` of the store that loads use: for a page whose models are loaded in a worker, which cannot ask. */
export async function askToPersist(): Promise<void> {
  if (!hasIndexedDb()) return;
  const store = createModelStore();
  await store.persist();
  store.close();
}
