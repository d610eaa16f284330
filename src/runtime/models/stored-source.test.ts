import { expect } from 'chai';
import type { LoadProgress } from '../../shared/info.ts';
import type { ModelSource } from './source.ts';
import { storedSource, type StoredSourceOptions } from './stored-source.ts';
import { FaultServer, sha256Of, weightsLike } from './testing/fault-server.ts';
import {
  CHUNK_BYTES,
  createTestStore,
  instantRetry,
  readAll,
  rejection,
  sameBytes,
  type TestStore,
} from './testing/test-store.ts';
import { createUrlSource } from './url-source.ts';

const SIZE = 5 * CHUNK_BYTES + 123;
const WEIGHTS = weightsLike('gguf', SIZE, 1);

describe('storedSource', () => {
  let store: TestStore;
  let server: FaultServer;

  beforeEach(() => {
    store = createTestStore();
    server = new FaultServer();
    server.serve('/m/model.gguf', { bytes: WEIGHTS, etag: '"v1"' });
  });
  afterEach(() => store.destroy());

  const source = (options: Partial<StoredSourceOptions> = {}): ModelSource =>
    storedSource(createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch }), {
      store,
      retry: instantRetry(),
      ...options,
    });
  const load = (options: Partial<StoredSourceOptions> = {}): Promise<Uint8Array> =>
    readAll(source(options), 'model.gguf');
  const stray = (): Promise<number> => store.internals.database.countStrayChunks();

  it('open: the first load downloads each byte once, the second needs no network', async () => {
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
    expect(server.requests).to.have.length(1);
    expect(server.servedBytes).to.equal(SIZE);
    server.isOffline = true;
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
    expect(server.requests).to.have.length(1);
    const [model] = await store.list();
    expect(model).to.deep.include({ id: 'm', isComplete: true, storedBytes: SIZE });
    expect(await stray()).to.equal(0);
  });

  it('open: parts of a stored file come from the store, and of another one from the source', async () => {
    const part = async (start: number, end: number): Promise<number[]> => {
      const { stream } = await source().open('model.gguf', { start, end });
      return [...new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer())];
    };
    expect(await part(10, 20)).to.deep.equal([...WEIGHTS.slice(10, 20)]);
    expect(server.requests).to.have.length(1);
    expect(await store.list()).to.deep.equal([]);
    await load();
    for (const [start, end] of [[0, 1], [CHUNK_BYTES - 1, CHUNK_BYTES + 1], [100, SIZE], [CHUNK_BYTES, 3 * CHUNK_BYTES]])
      expect(await part(start!, end!), `${start}-${end}`).to.deep.equal([...WEIGHTS.slice(start, end)]);
    expect(server.requests).to.have.length(2);
  });

  it('open: files that a model does not have are not asked for again, and are missing without a network too', async () => {
    await load();
    const missing = (): Promise<unknown> => rejection(readAll(source(), 'chat_template.jinja'));
    expect(await missing()).to.have.property('code', 'model-not-found');
    server.isOffline = true;
    expect(await missing()).to.have.property('code', 'model-not-found');
    expect(server.requests).to.have.length(2);
  });

  it('open: a 404 before anything is stored is asked for again', async () => {
    server.faults = [{ kind: 'status', status: 404 }];
    expect(await rejection(load())).to.have.property('code', 'model-not-found');
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
  });

  it('open: a web page with status 200 stores nothing, whatever type it claims', async () => {
    for (const contentType of ['text/html; charset=utf-8', 'application/octet-stream']) {
      server.faults = [{ kind: 'html', contentType }];
      expect(await rejection(load()), contentType).to.have.property('code', 'model-not-found');
      expect(await store.internals.database.listFiles()).to.deep.equal([]);
    }
    server.serve('/m/model.onnx', { bytes: WEIGHTS });
    expect(await rejection(readAll(source(), 'model.onnx'))).to.have.property('code', 'model-invalid');
    expect(await stray()).to.equal(0);
  });

  it('open: wrong bytes are refused by the digest before the end of the stream, and are not kept', async () => {
    server.serve('/m/model.gguf', { bytes: WEIGHTS, etag: '"v1"', sha256: await sha256Of(WEIGHTS) });
    server.faults = [{ kind: 'flip-bit', atByte: 9000 }];
    expect(await rejection(load())).to.have.property('code', 'model-invalid');
    expect(await store.list()).to.deep.equal([]);
    expect(await stray()).to.equal(0);
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
  });

  it('open: a stored chunk that was flipped, cut or lost is found and fetched again, that chunk only', async () => {
    await load();
    const { database } = store.internals;
    const { id } = (await database.getFile('m', 'model.gguf'))!.complete!;
    const chunk = (await database.readChunk(id, 2))!;
    const flipped = chunk.slice();
    flipped[77]! ^= 4;
    for (const damaged of [flipped, chunk.slice(0, 100), new Uint8Array(0)]) {
      const before = server.servedBytes;
      await database.putChunk(id, 2, damaged);
      expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
      expect(server.servedBytes - before).to.equal(CHUNK_BYTES);
      expect(server.requests.at(-1)!.headers.get('If-Range')).to.equal('"v1"');
      expect(sameBytes((await database.readChunk(id, 2))!, chunk)).to.equal(true);
    }
    await database.putChunk(id, 2, flipped);
    server.isOffline = true;
    expect(await rejection(load())).to.have.property('code', 'network');
    server.isOffline = false;
    server.serve('/m/model.gguf', { bytes: weightsLike('gguf', SIZE, 2), etag: '"v2"' });
    expect(await rejection(load())).to.have.property('code', 'model-invalid');
  });

  it('open: update fetches a file whose ETag has changed and drops the old chunks after success only', async () => {
    await load();
    const next = weightsLike('gguf', SIZE - 1000, 2);
    const oldId = (await store.internals.database.getFile('m', 'model.gguf'))!.complete!.id;
    expect(sameBytes(await load({ update: true }), WEIGHTS)).to.equal(true);
    expect((await store.internals.database.getFile('m', 'model.gguf'))!.complete!.id).to.equal(oldId);

    server.serve('/m/model.gguf', { bytes: next, etag: '"v2"' });
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
    const stop = new AbortController();
    const reader = (await source({ update: true, signal: stop.signal }).open('model.gguf')).stream.getReader();
    for (let bytes = 0; bytes < 3 * CHUNK_BYTES; ) bytes += (await reader.read()).value!.length;
    stop.abort();
    expect(await rejection(reader.read())).to.have.property('name', 'AbortError');
    server.isOffline = true;
    expect(sameBytes(await load({ update: true }), WEIGHTS)).to.equal(true);

    server.isOffline = false;
    expect(sameBytes(await load({ update: true }), next)).to.equal(true);
    const row = (await store.internals.database.getFile('m', 'model.gguf'))!;
    expect(row.partial).to.equal(undefined);
    expect(await store.internals.database.readChunk(oldId, 0)).to.equal(undefined);
    expect(await stray()).to.equal(0);
    expect((await store.usage()).storedBytes).to.equal(next.length);
  });

  it('open: another revision is downloaded only if its file is another one', async () => {
    const at = (revision: string): ModelSource =>
      storedSource({ ...createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch }), revision }, { store });
    await readAll(at('a'), 'model.gguf');
    const bytes = server.servedBytes;
    await readAll(at('b'), 'model.gguf');
    expect(server.servedBytes - bytes).to.be.lessThan(CHUNK_BYTES);
    server.isOffline = true;
    expect(sameBytes(await readAll(at('b'), 'model.gguf'), WEIGHTS)).to.equal(true);
    server.isOffline = false;
    const next = weightsLike('gguf', SIZE, 3);
    server.serve('/m/model.gguf', { bytes: next, etag: '"v2"' });
    expect(sameBytes(await readAll(at('c'), 'model.gguf'), next)).to.equal(true);
    expect(await stray()).to.equal(0);
  });

  it('open: cancelled by signal or by the reader, the fetch ends, and the next load goes on from the last chunk', async () => {
    for (const how of ['signal', 'reader'] as const) {
      const stop = new AbortController();
      const { stream } = await source({ signal: stop.signal }).open('model.gguf');
      const reader = stream.getReader();
      for (let bytes = 0; bytes < 2.5 * CHUNK_BYTES; ) bytes += (await reader.read()).value!.length;
      expect(server.openBodies).to.equal(1);
      if (how === 'signal') stop.abort();
      else await reader.cancel();
      await Promise.resolve();
      expect(server.openBodies, how).to.equal(0);
      expect((await store.list())[0]).to.deep.include({ isComplete: false, storedBytes: 2 * CHUNK_BYTES });
      server.servedBytes = 0;
      expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
      expect(server.servedBytes).to.equal(SIZE - 2 * CHUNK_BYTES);
      expect(server.requests.at(-1)!.headers.get('If-Range')).to.equal('"v1"');
      await store.delete('m');
    }
  });

  it('open: a partial download is not continued with another version', async () => {
    const stop = new AbortController();
    const reader = (await source({ signal: stop.signal }).open('model.gguf')).stream.getReader();
    for (let bytes = 0; bytes < 3 * CHUNK_BYTES; ) bytes += (await reader.read()).value!.length;
    stop.abort();
    const next = weightsLike('gguf', 2 * CHUNK_BYTES, 2);
    server.serve('/m/model.gguf', { bytes: next, etag: '"v2"' });
    expect(sameBytes(await load(), next)).to.equal(true);
    expect(await stray()).to.equal(0);
    expect((await store.usage()).storedBytes).to.equal(next.length);
  });

  it('beforeDownload: is told the size and can end the load before a byte of the body is read', async () => {
    const told: unknown[] = [];
    const beforeDownload = (file: unknown): void => {
      told.push(file);
      throw new RangeError('too large');
    };
    expect(await rejection(load({ beforeDownload }))).to.be.instanceOf(RangeError);
    expect(told).to.deep.equal([{ path: 'model.gguf', totalBytes: SIZE }]);
    expect(server).to.include({ servedBytes: 0, openBodies: 0 });
  });

  it('onProgress: adds up files that load at once, tells rate and time left, and reaches the total only when all is right', async () => {
    let nowMs = 0;
    const own = createTestStore({ clock: { now: () => nowMs } });
    const big = weightsLike('gguf', 2 ** 21, 5);
    for (const name of ['a', 'b']) server.serve(`/m/${name}.gguf`, { bytes: big, etag: '"v"' });
    server.pieceBytes = 2 ** 16;
    server.onPiece = () => (nowMs += 100); // 655,360 bytes a second
    const seen: LoadProgress[] = [];
    const both = source({ store: own, onProgress: (progress) => seen.push(progress) });
    await Promise.all(['a.gguf', 'b.gguf'].map((path) => readAll(both, path)));
    expect(seen.at(-1)).to.deep.include({ phase: 'download', loadedBytes: 2 ** 22, totalBytes: 2 ** 22, storedBytes: 0 });
    expect(seen.filter(({ loadedBytes, totalBytes }) => loadedBytes === totalBytes)).to.have.length(1);
    const middle = seen[Math.floor(seen.length / 2)]!;
    expect(middle.bytesPerSecond).to.be.within(600_000, 700_000);
    expect(middle.secondsLeft).to.be.closeTo((2 ** 22 - middle.loadedBytes) / middle.bytesPerSecond!, 1e-6);
    const again: LoadProgress[] = [];
    await readAll(source({ store: own, onProgress: (progress) => again.push(progress) }), 'a.gguf');
    expect(again.at(-1)).to.deep.include({ loadedBytes: 2 ** 21, storedBytes: 2 ** 21 });
    expect(again.at(-1)!.bytesPerSecond).to.equal(undefined);
    await own.destroy();
  });

  it('onProgress: a transfer that stalls after its first piece has come that far', async () => {
    const big = weightsLike('gguf', 2 ** 21, 5);
    server.serve('/m/big.gguf', { bytes: big, etag: '"v"' });
    server.pieceBytes = 2 ** 20;
    server.faults = [{ kind: 'stall', afterBytes: server.pieceBytes }];
    const ended = new AbortController();
    const told = new Promise<LoadProgress>((onProgress) => {
      const stalled = readAll(source({ onProgress, signal: ended.signal }), 'big.gguf');
      stalled.catch(() => undefined);
    });
    expect(await told).to.deep.include({ loadedBytes: 2 ** 20, totalBytes: 2 ** 21 });
    ended.abort();
  });
});
