import { expect } from 'chai';
import type { LoadProgress } from '../../shared/info.ts';
import { resolveModel } from '../models/catalog.ts';
import { beginLoad } from './load-session.ts';
import { createModelStore } from '../models/store/model-store.ts';
import { FaultServer, weightsLike } from '../models/testing/fault-server.ts';
import { readAll, rejection, sameBytes } from '../models/testing/test-store.ts';
import { createUrlSource } from '../models/url-source.ts';

const BYTES = weightsLike('gguf', 50_000, 1);

function model(server: FaultServer, id: string) {
  const source = createUrlSource('https://host.test/', { id, fetch: server.fetch });
  return { source, gguf: 'model.gguf', onnx: false };
}

/** The database is the one that pages use; ids of this test are its own. */
describe('beginLoad', () => {
  const id = `https://host.test/${crypto.randomUUID()}.gguf`;
  const store = createModelStore();
  let server: FaultServer;

  beforeEach(() => {
    server = new FaultServer();
    server.serve('/model.gguf', { bytes: BYTES, etag: '"v"' });
  });
  after(async () => {
    await store.delete(id);
    store.close();
  });

  it('beginLoad: the first load stores the model, the next needs no network, and store: false does without', async () => {
    const load = async (options: { store?: boolean } = {}): Promise<Uint8Array> => {
      const session = await beginLoad(model(server, id), options);
      const bytes = await readAll(session.model.source, session.model.gguf!);
      await session.end();
      return bytes;
    };
    await load({ store: false });
    expect((await store.list()).some((stored) => stored.id === id)).to.equal(false);
    expect(sameBytes(await load(), BYTES)).to.equal(true);
    server.isOffline = true;
    expect(sameBytes(await load(), BYTES)).to.equal(true);
    expect(await rejection(load({ store: false }))).to.have.property('code', 'network');
    await store.delete(id);
  });

  it('beginLoad: a model larger than the memory is refused before its body is fetched', async () => {
    const session = await beginLoad(model(server, id), { memoryBytes: BYTES.length - 1 });
    const error: unknown = await rejection(readAll(session.model.source, 'model.gguf'));
    expect(error).to.have.property('code', 'model-too-large');
    expect(error)
      .to.have.property('details')
      .that.includes({ neededBytes: BYTES.length, availableBytes: BYTES.length - 1 });
    expect(server).to.include({ servedBytes: 0, openBodies: 0 });
    await session.end();
  });

  it('beginLoad: of an ONNX model, KV and scratch count too, from its config, before the body of its weights is fetched', async () => {
    const weights = weightsLike('onnx', 50_000, 2);
    const config = { num_hidden_layers: 6, num_attention_heads: 4, num_key_value_heads: 2, hidden_size: 256 };
    const configBytes = new TextEncoder().encode(JSON.stringify(config));
    server.serve('/config.json', { bytes: configBytes, etag: '"c"' });
    server.serve('/onnx/model_q4.onnx', { bytes: weights, etag: '"w"' });
    const source = createUrlSource('https://host.test/', { id, fetch: server.fetch });
    const load = async (memoryBytes: number): Promise<unknown> => {
      const session = await beginLoad({ source, onnx: true }, { memoryBytes, contextTokens: 1000 });
      const before = server.servedBytes;
      try {
        await readAll(session.model.source, 'config.json');
        await readAll(session.model.source, 'onnx/model_q4.onnx');
        return server.servedBytes - before;
      } finally {
        await session.end();
      }
    };
    const kvBytes = 6 * 2 * 2 * 64 * 4 * 1000;
    const neededBytes = configBytes.length + weights.length + kvBytes + 2 ** 27;
    const refused = await rejection(load(neededBytes - 1));
    expect(refused).to.have.property('code', 'model-too-large');
    expect(refused).to.have.property('details').that.includes({ neededBytes });
    expect((refused as Error).message).to.include(`${Math.ceil(kvBytes / 1e6)} MB of KV`);
    expect(server.servedBytes, 'the config alone').to.be.lessThan(1000);
    expect(await load(neededBytes)).to.equal(weights.length);
    await store.delete(id);
  });

  it('beginLoad: a session that ends lets go of files that were not read to their end', async () => {
    const session = await beginLoad(model(server, id), {});
    const reader = (await session.model.source.open('model.gguf')).stream.getReader();
    await reader.read();
    expect(server.openBodies).to.equal(1);
    await session.end();
    expect(server.openBodies).to.equal(0);
    const next = await beginLoad(model(server, id), {});
    expect(sameBytes(await readAll(next.model.source, 'model.gguf'), BYTES)).to.equal(true);
    await next.end();
    await store.delete(id);
  });

  it('onProgress: what the backend says is completed with what came from the store; a load that was interrupted is told', async () => {
    const { database } = store.internals;
    await database.putLoading({ id: 'left', model: id, startedAtMs: 1 });
    const seen: LoadProgress[] = [];
    const session = await beginLoad(model(server, id), { onProgress: (event) => seen.push(event) });
    expect(seen[0]!.warning).to.deep.include({ code: 'interrupted-load', smallerModel: 'tutor' });
    await readAll(session.model.source, 'model.gguf');
    session.onProgress!({ phase: 'download', loadedBytes: 40_000, totalBytes: 50_000, label: 'Loading weights' });
    expect(seen.at(-1)).to.deep.include({ loadedBytes: 40_000, storedBytes: 0, label: 'Loading weights' });
    session.onProgress!({ phase: 'ready', loadedBytes: 50_000, totalBytes: 50_000, label: 'Ready' });
    expect(seen.at(-1)!.warning?.code).to.equal('interrupted-load');
    await session.end();
    const again: LoadProgress[] = [];
    await (await beginLoad(model(server, id), { onProgress: (event) => again.push(event) })).end();
    expect(again).to.deep.equal([]);
    await store.delete(id);
  });

  it('beginLoad: what is on the device is passed through, and a pattern for a file of the Hub becomes its path', async () => {
    const tutor = await beginLoad(resolveModel('tutor'), {});
    expect(tutor.model.source.id).to.equal('tutor');
    await tutor.end();
    const listing = [{ type: 'file', path: 'sub/m-Q4_0.gguf', size: BYTES.length }];
    server.serve('/org/name/resolve/main/sub/m-Q4_0.gguf', { bytes: BYTES, etag: '"v"' });
    const fetch: typeof globalThis.fetch = (input, init) =>
      new Request(input).url.includes('/api/') && !server.isOffline
        ? Promise.resolve(new Response(JSON.stringify(listing)))
        : server.fetch(input, init);
    const load = async (): Promise<string> => {
      const session = await beginLoad(resolveModel('hf:org/name/Q4_0', { hub: { fetch } }), {});
      await readAll(session.model.source, session.model.gguf!);
      await session.end();
      return session.model.gguf!;
    };
    expect(await load()).to.equal('sub/m-Q4_0.gguf');
    server.isOffline = true;
    expect(await load()).to.equal('sub/m-Q4_0.gguf');
    await store.delete('org/name');
  });
});
