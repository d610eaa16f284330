import { importLibrary, type MlcCacheBackend, type MlcLibrary } from './library.ts';
import type { WebLlmModel } from './web-llm-model.ts';
import { folderUrl, resolveWebLlmModel } from './resolve-model.ts';

export interface ClearWebLlmCacheOptions {
  /** As given when the model was loaded. @default 'cache' */
  cacheBackend?: MlcCacheBackend;
  /** @default imports the package */
  library?: () => Promise<MlcLibrary>;
}

/** Caches (or databases) of the library. */
const SCOPES = ['webllm/model', 'webllm/config', 'webllm/wasm'] as const;

/**
 * Deletes what web-llm keeps of a model: weights, config, tokenizer, compiled library. What to do after a load that failed with
 * `model-invalid`: the library keeps broken files for good, and its own deletion stops at a broken list of shards.
 *
 * @returns how many files were deleted; absent for `opfs`, where the library deletes and does not say
 * @throws TokenglassError `model-not-found`, `unsupported` if the package is not installed
 */
export async function clearWebLlmCache(
  model: string | WebLlmModel,
  { cacheBackend = 'cache', library = importLibrary }: ClearWebLlmCacheOptions = {},
): Promise<number | undefined> {
  const mlc = await library();
  const { record, appConfig } = resolveWebLlmModel(mlc, model, cacheBackend);
  const isOfModel = (url: string): boolean => url.startsWith(folderUrl(record)) || url === record.model_lib;
  if (cacheBackend === 'opfs') {
    await mlc.deleteModelInCache(record.model_id, appConfig);
    await mlc.deleteModelWasmInCache(record.model_id, appConfig);
    await mlc.deleteChatConfigInCache(record.model_id, appConfig);
    return undefined;
  }
  const clear = cacheBackend === 'cache' ? clearCache : clearDatabase;
  const counts = await Promise.all(SCOPES.map((scope) => clear(scope, isOfModel)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function clearCache(scope: string, isOfModel: (url: string) => boolean): Promise<number> {
  if (!(await caches.has(scope))) return 0;
  const cache = await caches.open(scope);
  const found = (await cache.keys()).filter(({ url }) => isOfModel(url));
  await Promise.all(found.map((request) => cache.delete(request)));
  return found.length;
}

async function clearDatabase(scope: string, isOfModel: (url: string) => boolean): Promise<number> {
  const database = await openDatabase(scope);
  try {
    const store = database.transaction('urls', 'readwrite').objectStore('urls');
    const keys = await settled(store.getAllKeys());
    const found = keys.filter((key) => typeof key === 'string' && isOfModel(key));
    await Promise.all(found.map((key) => settled(store.delete(key))));
    return found.length;
  } finally {
    database.close();
  }
}

/** Opens it as the library does: one that was made without its store would be of no use to it. */
function openDatabase(name: string): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore('urls', { keyPath: 'url' });
  return settled(opening);
}

const settled = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new DOMException('IndexedDB did not say why', 'UnknownError'));
  });
