import { expect } from 'chai';
import { clearWebLlmCache } from './clear-cache.ts';
import { FAKE_MODEL, fakeMlc } from './testing/fake-mlc-library.ts';

const FOLDER = 'https://models.example/Fake-1B-q4f16_1-MLC/resolve/main/';
/** By cache: what the library keeps of the model, a list of shards that is a web page among it, and what is of another one. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'webllm/model': [`${FOLDER}tensor-cache.json`, `${FOLDER}params_shard_0.bin`, 'https://models.example/other/x.bin'],
  'webllm/config': [`${FOLDER}mlc-chat-config.json`],
  'webllm/wasm': ['https://libs.example/fake.wasm', 'https://libs.example/other.wasm'],
};
const OTHERS = ['https://models.example/other/x.bin', 'https://libs.example/other.wasm'];

const done = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });

async function openAsLibrary(name: string): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore('urls', { keyPath: 'url' });
  return done(opening);
}

describe('clearWebLlmCache', () => {
  const { library, deleted } = fakeMlc();
  afterEach(async () => {
    for (const scope of Object.keys(FILES)) {
      await caches.delete(scope);
      await done(indexedDB.deleteDatabase(scope));
    }
  });

  it('cache: deletes every file of the model, broken ones too, and no other', async () => {
    for (const [scope, urls] of Object.entries(FILES)) {
      const cache = await caches.open(scope);
      for (const url of urls) await cache.put(url, new Response('<!doctype html>'));
    }
    expect(await clearWebLlmCache(FAKE_MODEL, { library })).to.equal(4);
    const left: string[] = [];
    for (const scope of Object.keys(FILES))
      left.push(...(await (await caches.open(scope)).keys()).map(({ url }) => url));
    expect(left).to.deep.equal(OTHERS);
    expect(await clearWebLlmCache(FAKE_MODEL, { library })).to.equal(0);
  });

  it('indexeddb: the same, and leaves databases that the library can use', async () => {
    for (const [scope, urls] of Object.entries(FILES)) {
      const database = await openAsLibrary(scope);
      const store = database.transaction('urls', 'readwrite').objectStore('urls');
      for (const url of urls) await done(store.add({ url, data: '<!doctype html>' }));
      database.close();
    }
    expect(await clearWebLlmCache(FAKE_MODEL, { library, cacheBackend: 'indexeddb' })).to.equal(4);
    const left: unknown[] = [];
    for (const scope of Object.keys(FILES)) {
      const database = await openAsLibrary(scope);
      left.push(...(await done(database.transaction('urls').objectStore('urls').getAllKeys())));
      database.close();
    }
    expect(left).to.deep.equal(OTHERS);
  });

  it('indexeddb: where nothing was kept, the databases it makes are those that the library makes', async () => {
    expect(await clearWebLlmCache(FAKE_MODEL, { library, cacheBackend: 'indexeddb' })).to.equal(0);
    const database = await openAsLibrary('webllm/model');
    expect([...database.objectStoreNames]).to.deep.equal(['urls']);
    database.close();
  });

  it('opfs: is left to the library', async () => {
    expect(await clearWebLlmCache(FAKE_MODEL, { library, cacheBackend: 'opfs' })).to.equal(undefined);
    expect(deleted).to.deep.equal([`model ${FAKE_MODEL}`, `wasm ${FAKE_MODEL}`, `config ${FAKE_MODEL}`]);
  });
});
