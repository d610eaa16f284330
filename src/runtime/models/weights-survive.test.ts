import { expect } from 'chai';
import { isTokenglassError } from '../../shared/errors.ts';
import type { LoadProgress } from '../../shared/info.ts';
import type { ModelSource } from './source.ts';
import type { WeightDatabase } from './store/weight-database.ts';
import { createWeightDatabase } from './store/weight-database.ts';
import { storedSource, type StoredSourceOptions } from './stored-source.ts';
import { FaultServer, sha256Of, weightsLike, type Fault } from './testing/fault-server.ts';
import type { WorkerReport, WorkerTask } from './testing/download-worker.ts';
import { SeededRandom } from './testing/random.ts';
import { CHUNK_BYTES, createTestStore, instantRetry, readAll, rejection, sameBytes } from './testing/test-store.ts';
import { createUrlSource } from './url-source.ts';

function sourceOf(server: FaultServer, options: StoredSourceOptions): ModelSource {
  const source = createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch });
  return storedSource(source, { retry: instantRetry(), ...options });
}

describe('weights survive', () => {

  it('storedSource: 200 seeded cases of a network that fails end right or with the right error, and the next load is right', async () => {
    const outcomes = new Map<string, number>();
    const store = createTestStore();
    for (let seed = 0; seed < 200; seed++) {
      const outcome = await faultCase(seed, store);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await store.delete('m');
    }
    expect(await store.internals.database.countStrayChunks()).to.equal(0);
    await store.destroy();
    // Cases of each kind did occur: most go right after all, some cannot.
    expect(outcomes.get('right')).to.be.greaterThan(80);
    for (const code of ['network', 'model-invalid', 'model-not-found']) expect(outcomes.get(code), code).to.be.greaterThan(3);
  });

  it('storedSource: broken off at any byte, any number of times, no byte is fetched twice within a load', async () => {
    const store = createTestStore();
    for (let seed = 0; seed < 30; seed++) {
      const random = new SeededRandom(1000 + seed);
      const bytes = weightsLike('gguf', 1 + random.integer(6 * CHUNK_BYTES), seed);
      const server = new FaultServer();
      server.serve('/m/model.gguf', { bytes, etag: '"v"' });
      for (let i = random.integer(8); i > 0; i--) {
        const afterBytes = random.integer(2 * CHUNK_BYTES);
        server.faults.push(random.integer(3) === 0 ? { kind: 'refuse-connection' } : { kind: 'break-off', afterBytes });
      }
      expect(sameBytes(await readAll(sourceOf(server, { store }), 'model.gguf'), bytes), `seed ${seed}`).to.equal(true);
      expect(server.servedBytes, `seed ${seed}`).to.equal(bytes.length);
      await store.delete('m');
    }
    await store.destroy();
  });

  it('storedSource: back-off doubles, obeys Retry-After, and gives up after so many failures in a row', async () => {
    const store = createTestStore();
    const server = new FaultServer();
    const bytes = weightsLike('gguf', 2 * CHUNK_BYTES, 1);
    server.serve('/m/model.gguf', { bytes, etag: '"v"' });
    const refuse: Fault = { kind: 'refuse-connection' };
    server.faults = [refuse, refuse, { kind: 'status', status: 429, retryAfterSeconds: 7 }, { kind: 'break-off', afterBytes: 5000 }];
    const retry = instantRetry();
    await readAll(sourceOf(server, { store, retry }), 'model.gguf');
    expect(retry.waitedMs).to.deep.equal([500, 1000, 7000, 500]);
    await store.delete('m');

    server.faults = Array.from({ length: 20 }, () => refuse);
    const given = instantRetry();
    expect(await rejection(readAll(sourceOf(server, { store, retry: given }), 'model.gguf'))).to.have.property('code', 'network');
    expect(given.waitedMs).to.deep.equal([500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    server.faults = [{ kind: 'status', status: 429, retryAfterSeconds: 3600 }];
    expect(await rejection(readAll(sourceOf(server, { store }), 'model.gguf'))).to.have.property('code', 'network');
    expect(server.faults).to.deep.equal([]);
    await store.destroy();
  });

  it('storedSource: while it waits after a failure, it tries again at once when the network is back, and a cancel ends the wait', async () => {
    for (const how of ['online', 'cancel'] as const) {
      const store = createTestStore();
      const server = new FaultServer();
      const bytes = weightsLike('gguf', 3 * CHUNK_BYTES, 1);
      server.serve('/m/model.gguf', { bytes, etag: '"v"' });
      server.faults = [{ kind: 'break-off', afterBytes: 5000 }];
      const stop = new AbortController();
      const source = createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch });
      // Without the event, the test would time out.
      const options = { store, signal: stop.signal, retry: { firstDelayMs: 1e8, maxDelayMs: 1e8 } };
      const reading = readAll(storedSource(source, options), 'model.gguf');
      reading.catch(() => undefined);
      while (server.servedBytes < 5000) await new Promise((resolve) => setTimeout(resolve));
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
      expect(server.requests).to.have.length(1);
      if (how === 'online') {
        dispatchEvent(new Event('online'));
        expect(sameBytes(await reading, bytes)).to.equal(true);
      } else {
        stop.abort();
        expect(await rejection(reading)).to.have.property('name', 'AbortError');
      }
      await store.destroy();
    }
  });

  it('storedSource: killed at 40 % of a download, 20 times, the next load works and fetches at most one chunk twice', async () => {
    for (let kill = 0; kill < 20; kill++) {
      const store = createTestStore();
      const size = 10 * CHUNK_BYTES + kill * 37;
      // Around 40 %: on a border of chunks, just before and after one, and between.
      const stallAfterBytes = 4 * CHUNK_BYTES + [0, 1, -1, 700, 1400, CHUNK_BYTES / 2][kill % 6]!;
      const task: WorkerTask = { task: 'download', databaseName: store.databaseName, bytes: size, seed: kill, stallAfterBytes };
      const { worker, report } = startWorker(task);
      const before = await report;
      worker.terminate();
      // A chunk that was not yet stored, and the piece of the network with its end and the begin of the next one.
      const mostTwice = CHUNK_BYTES + 700;
      expect(before).to.include({ state: 'stalled', servedBytes: stallAfterBytes });

      const bytes = weightsLike('gguf', size, kill);
      const server = new FaultServer();
      server.serve('/m/model.gguf', { bytes, etag: `"${kill}"`, sha256: await sha256Of(bytes) });
      expect(sameBytes(await readAll(sourceOf(server, { store }), 'model.gguf'), bytes), `kill ${kill}`).to.equal(true);
      expect(before.servedBytes + server.servedBytes, `kill ${kill}`).to.be.within(size, size + mostTwice);
      server.isOffline = true;
      expect(sameBytes(await readAll(sourceOf(server, { store }), 'model.gguf'), bytes)).to.equal(true);
      expect(await store.internals.database.countStrayChunks()).to.equal(0);
      await store.destroy();
    }
  });

  it('storedSource: of two tabs that load the same file one downloads, the other waits and reads the store', async () => {
    const store = createTestStore();
    const size = 20 * CHUNK_BYTES + 5;
    const task: WorkerTask = { task: 'download', databaseName: store.databaseName, bytes: size, seed: 3 };
    const reports = await Promise.all([startWorker(task), startWorker(task)].map(finished));
    expect(reports.map(({ readBytes }) => readBytes)).to.deep.equal([size, size]);
    expect(reports.map(({ requests }) => requests).sort()).to.deep.equal([0, 1]);
    expect(reports[0]!.servedBytes + reports[1]!.servedBytes).to.equal(size);
    await store.destroy();
  });

  it('storedSource: while another tab downloads, the waiting one says so and can be cancelled', async () => {
    const store = createTestStore();
    const size = 20 * CHUNK_BYTES;
    const { worker, report } = startWorker({ task: 'download', databaseName: store.databaseName, bytes: size, seed: 3, stallAfterBytes: 9000 });
    await report;
    const stop = new AbortController();
    const server = new FaultServer();
    const labels: string[] = [];
    const onProgress = ({ label }: LoadProgress): void => {
      labels.push(label);
      stop.abort();
    };
    const waiting = readAll(sourceOf(server, { store, onProgress, signal: stop.signal }), 'model.gguf');
    expect(await rejection(waiting)).to.have.property('name', 'AbortError');
    expect(labels).to.deep.equal(['Waiting for another tab that is loading m']);
    expect(server.requests).to.have.length(0);
    worker.terminate();
    await store.destroy();
  });

  it('storedSource: a full disk at any chunk in turn leaves a model that runs, is not saved, and no stray rows', async () => {
    const chunks = 6;
    const bytes = weightsLike('gguf', (chunks - 1) * CHUNK_BYTES + 10, 1);
    for (let failing = 0; failing <= chunks; failing++) {
      for (const resumed of [false, true]) {
        const name = `tokenglass-test-${crypto.randomUUID()}`;
        const real = createWeightDatabase(name, indexedDB);
        const { database, arm } = failAtChunk(real, failing);
        const store = createTestStore({ databaseName: name, database });
        const server = new FaultServer();
        server.serve('/m/model.gguf', { bytes, etag: '"v"', sha256: await sha256Of(bytes) });
        if (resumed) {
          const stop = new AbortController();
          const reader = (await sourceOf(server, { store, signal: stop.signal }).open('model.gguf')).stream.getReader();
          for (let read = 0; read < 2 * CHUNK_BYTES + 2000; ) read += (await reader.read()).value!.length;
          stop.abort();
        }
        arm();
        const seen: LoadProgress[] = [];
        const onProgress = (progress: LoadProgress): void => void seen.push(progress);
        expect(sameBytes(await readAll(sourceOf(server, { store, onProgress }), 'model.gguf'), bytes)).to.equal(true);
        const isHit = failing < chunks && (!resumed || failing >= 2);
        expect(seen.at(-1)!.warning?.code, `chunk ${failing}`).to.equal(isHit ? 'not-saved' : undefined);
        if (isHit) {
          expect(seen.at(-1)!.warning!.message).to.match(/^Runs, not saved/);
          const first = seen.find(({ warning }) => warning)!;
          expect(first.loadedBytes, 'progress when it failed').to.be.lessThan(bytes.length);
        }
        expect(await real.countStrayChunks()).to.equal(0);
        expect((await real.listFiles()).map(({ complete, partial }) => [complete?.storedBytes, partial])).to.deep.equal(
          isHit ? [] : [[bytes.length, undefined]],
        );
        real.close();
        await store.destroy();
      }
    }
  });

  it('storedSource: too little room is known before the download: it runs unsaved, or throws with the numbers', async () => {
    const bytes = weightsLike('gguf', 3 * CHUNK_BYTES, 1);
    const storage = { estimate: () => Promise.resolve({ quota: 20_000, usage: 15_000 }) };
    const store = createTestStore({ storage });
    const server = new FaultServer();
    server.serve('/m/model.gguf', { bytes, etag: '"v"' });
    const full: unknown = await rejection(readAll(sourceOf(server, { store, whenFull: 'throw' }), 'model.gguf'));
    expect(full).to.have.property('code', 'storage-full');
    expect(full).to.have.property('details').that.deep.equals({ neededBytes: bytes.length, availableBytes: 5000 });
    expect(server).to.include({ servedBytes: 0, openBodies: 0 });
    const seen: LoadProgress[] = [];
    await readAll(sourceOf(server, { store, onProgress: (progress) => seen.push(progress) }), 'model.gguf');
    expect(seen.at(-1)!.warning).to.deep.include({ code: 'not-saved', neededBytes: bytes.length, availableBytes: 5000 });
    expect(await store.list()).to.deep.equal([]);
    await store.destroy();
  });

  it('storedSource: a store that cannot be opened does not keep a model from running', async () => {
    const broken = {
      open: () => {
        throw new DOMException('no', 'SecurityError');
      },
    } as unknown as IDBFactory;
    const store = createTestStore({ indexedDB: broken });
    const server = new FaultServer();
    const bytes = weightsLike('gguf', 3 * CHUNK_BYTES, 1);
    server.serve('/m/model.gguf', { bytes, etag: '"v"' });
    const seen: LoadProgress[] = [];
    const source = sourceOf(server, { store, onProgress: (progress) => seen.push(progress) });
    expect(sameBytes(await readAll(source, 'model.gguf'), bytes)).to.equal(true);
    expect(seen.at(-1)!.warning?.code).to.equal('not-saved');
    await store.destroy();
  });

  it('storedSource: a stored model is read a chunk at a time, never ahead of its reader: at most two chunks are alive', async () => {
    const name = `tokenglass-test-${crypto.randomUUID()}`;
    const real = createWeightDatabase(name, indexedDB);
    let reads = 0;
    const readChunk: WeightDatabase['readChunk'] = (version, index) => {
      reads += 1;
      return real.readChunk(version, index);
    };
    const store = createTestStore({ databaseName: name, database: { ...real, readChunk } });
    const server = new FaultServer();
    server.serve('/m/model.gguf', { bytes: weightsLike('gguf', 12 * CHUNK_BYTES, 1), etag: '"v"' });
    await readAll(sourceOf(server, { store }), 'model.gguf');
    reads = 0;
    let consumed = 0;
    const { stream } = await sourceOf(server, { store }).open('model.gguf');
    for await (const chunk of stream) {
      consumed += 1;
      expect(chunk.length).to.equal(CHUNK_BYTES);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve));
      expect(reads, `while chunk ${consumed} is in use`).to.be.at.most(consumed + 1);
    }
    expect(consumed).to.equal(12);
    real.close();
    await store.destroy();
  });

  it('storedSource: 3 GB go through without an allocation above 256 MiB, nor above one chunk', async () => {
    const total = 3 * 2 ** 30;
    const piece = new Uint8Array(2 ** 18);
    const source: ModelSource = {
      id: 'm',
      kind: 'url',
      open: () => {
        let at = 0;
        const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
          if (at === total) controller.close();
          else controller.enqueue(piece);
          at += piece.length;
        };
        return Promise.resolve({ totalBytes: total, etag: '"v"', stream: new ReadableStream({ pull }, { highWaterMark: 0 }) });
      },
    };
    const name = `tokenglass-test-${crypto.randomUUID()}`;
    const real = createWeightDatabase(name, indexedDB);
    let chunks = 0;
    // The disk is not filled: rows are written, chunks are not.
    const database: WeightDatabase = {
      ...real,
      write: ({ chunk, ...batch }) => {
        if (chunk) chunks += 1;
        return real.write(batch);
      },
    };
    const store = createTestStore({ databaseName: name, database, chunkBytes: 2 ** 23 });
    const largest = watchAllocations();
    let read = 0;
    const { stream } = await storedSource(source, { store }).open('model.bin');
    for await (const part of stream) read += part.length;
    expect(largest.stop()).to.be.within(2 ** 22, 2 ** 23);
    expect({ read, chunks }).to.deep.equal({ read: total, chunks: 384 });
    real.close();
    await store.destroy();
  });
});

const KINDS = ['refuse-connection', 'break-off', 'end-early', 'status', 'html', 'wrong-range', 'ignore-range', 'flip-bit', 'too-long', 'gzip'] as const;

/** Codes that a load may end with because of a fault that was served. */
const MAY_END: Readonly<Partial<Record<Fault['kind'], readonly string[]>>> = {
  html: ['model-not-found'],
  'flip-bit': ['model-invalid'],
  'too-long': ['model-invalid'],
  status: ['model-not-found', 'network'],
};

/** One host, one file, some faults: the outcome of a load. */
async function faultCase(seed: number, store: ReturnType<typeof createTestStore>): Promise<string> {
  const random = new SeededRandom(seed);
  const kind = random.integer(2) === 0 ? 'gguf' : 'onnx';
  const bytes = weightsLike(kind, 1 + random.integer(5 * CHUNK_BYTES), seed);
  const path = `model.${kind}`;
  const server = new FaultServer();
  server.pieceBytes = 1 + random.integer(3000);
  const etag = [undefined, '"v1"', 'W/"v1"'][random.integer(3)];
  const sha256 = await sha256Of(bytes);
  server.serve(`/m/${path}`, { bytes, sha256, ...(etag !== undefined && { etag }) });
  const faults = Array.from({ length: random.integer(5) }, () => makeFault(random, bytes.length));
  server.faults = [...faults];

  const retry = instantRetry();
  const options = { store, retry: { ...retry, maxFailures: 4 } };
  let outcome = 'right';
  // As a person does: tries again, in a new tab.
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const read = await readAll(sourceOf(server, options), path);
      expect(sameBytes(read, bytes), `seed ${seed}: the bytes`).to.equal(true);
    } catch (error) {
      if (!isTokenglassError(error)) throw error;
      const used = faults.slice(0, faults.length - server.faults.length);
      const allowed = used.flatMap((fault) => MAY_END[fault.kind] ?? []);
      expect(allowed, `seed ${seed}: ${error.message}`).to.include(error.code);
      outcome = error.code;
      const [stored] = await store.list();
      expect(stored?.isComplete ?? false, `seed ${seed}: complete after a failure`).to.equal(false);
    }
  }
  server.faults = [];
  expect(sameBytes(await readAll(sourceOf(server, options), path), bytes), `seed ${seed}: afterwards`).to.equal(true);
  const asked = server.requests.length;
  await readAll(sourceOf(server, options), path);
  expect(server.requests.length, `seed ${seed}: from the store`).to.equal(asked);
  expect(server.openBodies, `seed ${seed}: connections left open`).to.equal(0);
  return outcome;
}

function makeFault(random: SeededRandom, length: number): Fault {
  const kind = KINDS[random.integer(KINDS.length)]!;
  switch (kind) {
    case 'break-off':
    case 'end-early':
      return { kind, afterBytes: random.integer(length) };
    case 'status': {
      const status = [429, 503, 500, 404, 403][random.integer(5)]!;
      return { kind, status, ...(random.integer(2) === 0 && { retryAfterSeconds: random.integer(100) }) };
    }
    case 'html':
      return { kind, contentType: ['text/html', 'application/octet-stream'][random.integer(2)]! };
    case 'flip-bit':
      return { kind, atByte: random.integer(length) };
    default:
      return { kind };
  }
}

function startWorker(task: WorkerTask): { worker: Worker; report: Promise<WorkerReport> } {
  const worker = new Worker(new URL('./testing/download-worker.ts', import.meta.url), { type: 'module' });
  const report = new Promise<WorkerReport>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  worker.postMessage(task);
  return { worker, report };
}

async function finished({ worker, report }: ReturnType<typeof startWorker>): Promise<WorkerReport> {
  const result = await report;
  worker.terminate();
  return result;
}

/** Once armed, writing the chunk with this index fails as a full disk does. */
function failAtChunk(real: WeightDatabase, index: number): { database: WeightDatabase; arm: () => void } {
  let isArmed = false;
  const database: WeightDatabase = {
    ...real,
    write: (batch) => {
      if (isArmed && batch.chunk?.index === index)
        return Promise.reject(new DOMException('The quota has been exceeded.', 'QuotaExceededError'));
      return real.write(batch);
    },
  };
  return { database, arm: () => (isArmed = true) };
}

/** Notes the largest buffer that JavaScript makes until `stop`. */
function watchAllocations(): { stop: () => number } {
  const { Uint8Array: bytes, ArrayBuffer: buffer } = globalThis;
  let largest = 0;
  const watch = <Constructor extends Uint8ArrayConstructor | ArrayBufferConstructor>(original: Constructor): Constructor =>
    new Proxy(original, {
      construct(target, args: unknown[], newTarget) {
        if (typeof args[0] === 'number') largest = Math.max(largest, args[0]);
        return Reflect.construct(target, args, newTarget) as object;
      },
    });
  globalThis.Uint8Array = watch(bytes);
  globalThis.ArrayBuffer = watch(buffer);
  return {
    stop: () => {
      globalThis.Uint8Array = bytes;
      globalThis.ArrayBuffer = buffer;
      return largest;
    },
  };
}
