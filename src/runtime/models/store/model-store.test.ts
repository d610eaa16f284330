import { expect } from 'chai';
import { storedSource } from '../stored-source.ts';
import { FaultServer, weightsLike } from '../testing/fault-server.ts';
import { CHUNK_BYTES, createTestStore, instantRetry, readAll, sameBytes, type TestStore } from '../testing/test-store.ts';
import { createUrlSource } from '../url-source.ts';
import { createModelStore } from './model-store.ts';
import { createSpace } from './space.ts';

describe('createModelStore', () => {
  let nowMs = 0;
  let store: TestStore;
  const server = new FaultServer();
  const sizes = { a: 3 * CHUNK_BYTES, b: 2 * CHUNK_BYTES + 1, c: 10 };
  for (const [name, size] of Object.entries(sizes))
    server.serve(`/${name}/model.gguf`, { bytes: weightsLike('gguf', size, size), etag: `"${name}"` });

  const sourceOf = (id: string) =>
    storedSource(createUrlSource(`https://host.test/${id}/`, { id, fetch: server.fetch }), {
      store,
      retry: instantRetry(),
    });
  const load = async (id: string): Promise<void> => {
    nowMs += 1000;
    await readAll(sourceOf(id), 'model.gguf');
  };

  beforeEach(async () => {
    nowMs = 0;
    store = createTestStore({ clock: { now: () => nowMs } });
    for (const id of ['a', 'b', 'c']) await load(id);
  });
  afterEach(() => store.destroy());

  it('list: tells files, bytes and last use, the latest first', async () => {
    await load('a');
    const models = await store.list();
    expect(models.map(({ id, lastUsedAtMs, storedBytes }) => [id, lastUsedAtMs, storedBytes])).to.deep.equal([
      ['a', 4000, sizes.a],
      ['c', 3000, sizes.c],
      ['b', 2000, sizes.b],
    ]);
    expect(models[0]!.files).to.deep.equal([
      { path: 'model.gguf', storedBytes: sizes.a, totalBytes: sizes.a, isComplete: true, etag: '"a"' },
    ]);
    expect((await store.usage()).storedBytes).to.equal(sizes.a + sizes.b + sizes.c);
  });

  it('delete: frees a whole model, and another is untouched', async () => {
    expect(await store.delete('a')).to.equal(sizes.a);
    expect(await store.delete('a')).to.equal(0);
    expect((await store.list()).map(({ id }) => id)).to.deep.equal(['c', 'b']);
    expect(await store.internals.database.countStrayChunks()).to.equal(0);
  });

  it('evict: takes the models used least recently until enough is free, and leaves one that is being loaded', async () => {
    await load('a');
    const { stream } = await sourceOf('b').open('model.gguf');
    expect(await store.evict(1)).to.equal(sizes.c);
    await stream.cancel();
    expect(await store.evict(sizes.b + 1)).to.equal(sizes.b + sizes.a);
    expect(await store.list()).to.deep.equal([]);
    expect(await store.evict(1)).to.equal(0);
  });

  it('delete: during a download, the download goes on unsaved and leaves nothing', async () => {
    await store.delete('a');
    const { stream } = await sourceOf('a').open('model.gguf');
    const reader = stream.getReader();
    let bytes = 0;
    while (bytes < 1.5 * CHUNK_BYTES) bytes += (await reader.read()).value!.length;
    expect((await store.list())[0]).to.include({ id: 'a', isComplete: false });
    await store.delete('a');
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) bytes += piece.value.length;
    expect(bytes).to.equal(sizes.a);
    expect((await store.list()).map(({ id }) => id)).to.deep.equal(['c', 'b']);
    expect(await store.internals.database.countStrayChunks()).to.equal(0);
  });

  it('createModelStore: comes back after its connection was closed from outside, in the middle of a load too', async () => {
    const opened: IDBDatabase[] = [];
    let failOpens = 0;
    const spied = {
      open: (name: string, version?: number) => {
        if (failOpens-- > 0) throw new DOMException('Internal error opening backing store', 'UnknownError');
        const request = indexedDB.open(name, version);
        request.addEventListener('success', () => opened.push(request.result));
        return request;
      },
    } as unknown as IDBFactory;
    const own = createModelStore({ databaseName: store.databaseName, indexedDB: spied, chunkBytes: CHUNK_BYTES });
    const bytes = weightsLike('gguf', sizes.a, sizes.a);
    const source = (): ReturnType<typeof storedSource> =>
      storedSource(createUrlSource('https://host.test/d/', { id: 'd', fetch: server.fetch }), { store: own });
    server.serve('/d/model.gguf', { bytes, etag: '"d"' });
    server.onPiece = () => opened.at(-1)?.close();
    expect(sameBytes(await readAll(source(), 'model.gguf'), bytes)).to.equal(true);
    server.onPiece = () => undefined;
    expect(opened.length).to.be.greaterThan(2);
    expect((await own.list())[0]).to.include({ id: 'd', isComplete: true });

    // An open that failed is not kept: one retry, and the next call begins anew.
    own.close();
    failOpens = 1;
    expect(await own.list()).to.have.length(4);
    own.close();
    failOpens = 2;
    let failed: unknown;
    await own.list().catch((error: unknown) => (failed = error));
    expect(failed).to.have.property('name', 'UnknownError');
    expect(await own.list()).to.have.length(4);
    own.close();
  });
});

describe('createSpace', () => {
  it('persist: is asked for only where it is not granted yet', async () => {
    let asked = 0;
    const storage = (granted: boolean): Partial<StorageManager> => ({
      persisted: () => Promise.resolve(granted),
      persist: () => Promise.resolve(++asked > 0),
    });
    await createSpace(storage(true)).persist();
    expect(asked).to.equal(0);
    await createSpace(storage(false)).persist();
    expect(asked).to.equal(1);
    expect(createSpace({}).canPersist).to.equal(false);
    await createSpace(undefined).persist();
    expect(await createSpace(undefined).availableBytes()).to.equal(undefined);
  });

  it('persist: a store asks once, however many models it downloads', async () => {
    let asked = 0;
    const storage = { persist: () => Promise.resolve(++asked > 0), persisted: () => Promise.resolve(false) };
    const store = createTestStore({ storage });
    const server = new FaultServer();
    for (const path of ['a.gguf', 'b.gguf']) {
      server.serve(`/${path}`, { bytes: weightsLike('gguf', 3 * CHUNK_BYTES, 1), etag: '"v"' });
      await readAll(storedSource(createUrlSource('https://host.test/', { fetch: server.fetch }), { store }), path);
    }
    // The question is asked beside the download; this transaction comes after it.
    await store.list();
    expect(asked).to.equal(1);
    await store.destroy();
  });
});
