import { expect } from 'chai';
import { createHubSource, type HubSourceOptions } from './hub-source.ts';
import { storedSource } from './stored-source.ts';
import { createTestStore, instantRetry, readAll, rejection, sameBytes } from './testing/test-store.ts';
import { FaultServer, sha256Of, weightsLike } from './testing/fault-server.ts';

const WEIGHTS = weightsLike('gguf', 10_000, 1);
const COMMIT = 'a'.repeat(40);

/** A Hub with one repository, whose listing comes in two pages. */
async function hub(options: HubSourceOptions = {}) {
  const server = new FaultServer();
  const sha256 = await sha256Of(WEIGHTS);
  const files = [
    { type: 'directory', path: 'onnx', size: 0 },
    { type: 'file', path: 'config.json', size: 2, oid: 'b'.repeat(40) },
    { type: 'file', path: 'm-Q4_0.gguf', size: WEIGHTS.length, lfs: { oid: sha256, size: WEIGHTS.length } },
    { type: 'file', path: 'm-Q8_0-00001-of-00002.gguf', size: 1 },
    { type: 'file', path: 'm-Q8_0-00002-of-00002.gguf', size: 1 },
  ];
  server.serve(`/org/name/resolve/${COMMIT}/m-Q4_0.gguf`, { bytes: WEIGHTS, etag: '"cdn-1"' });
  server.serve(`/org/name/resolve/${COMMIT}/config.json`, { bytes: new TextEncoder().encode('{}') });
  const listings: Request[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(input instanceof Request ? input : new URL(input), init);
    const url = new URL(request.url);
    if (!url.pathname.startsWith('/api/') || server.isOffline) return server.fetch(request);
    listings.push(request);
    if (url.pathname !== '/api/models/org/name/tree/main') return Promise.resolve(new Response('', { status: 401 }));
    const page = url.searchParams.get('cursor') === null ? files.slice(0, 3) : files.slice(3);
    const headers = new Headers({ 'X-Repo-Commit': COMMIT });
    if (page.length === 3) headers.set('Link', `<${url.href}&cursor=x>; rel="next"`);
    return Promise.resolve(new Response(JSON.stringify(page), { headers }));
  };
  return { server, listings, sha256, fetch, source: createHubSource('org/name', { fetch, ...options }) };
}

describe('createHubSource', () => {
  it('files: are listed once, over all pages, with size and digest', async () => {
    const { source, listings, sha256 } = await hub();
    const [files] = await Promise.all([source.files(), source.files()]);
    expect(files.map(({ path }) => path)).to.have.length(4);
    expect(files[1]).to.deep.equal({ path: 'm-Q4_0.gguf', sizeBytes: WEIGHTS.length, sha256 });
    expect(listings).to.have.length(2);
    expect(listings[0]!.url).to.equal('https://huggingface.co/api/models/org/name/tree/main?recursive=true');
  });

  it('open: takes the file from the commit of the listing, with size and digest; a pattern names one file', async () => {
    const { source, sha256, server } = await hub();
    for (const path of ['m-Q4_0.gguf', '*q4_0*', '*4_0.gguf']) {
      const file = await source.open(path);
      expect(file).to.deep.include({ totalBytes: WEIGHTS.length, sha256, etag: '"cdn-1"' });
      await file.stream.cancel();
    }
    expect(server.requests[0]!.url).to.equal(`https://huggingface.co/org/name/resolve/${COMMIT}/m-Q4_0.gguf`);
    // A split set is named by its first file, which is not served here.
    expect(await rejection(source.open('*Q8_0*'))).to.have.property('message').that.includes('m-Q8_0-00001-of-00002');
    const several: unknown = await rejection(source.open('*.gguf'));
    expect(several).to.have.property('code', 'model-not-found');
    expect(several).to.have.property('message').that.includes('m-Q4_0.gguf, m-Q8_0-00001-of-00002.gguf');
    expect(await rejection(source.open('none.gguf'))).to.have.property('code', 'model-not-found');
  });

  it('open: goes to a mirror where one is given, with the token in a header and in no message', async () => {
    const { source, listings, server } = await hub({ baseUrl: 'https://mirror.test', token: 'hf_secret' });
    await (await source.open('config.json')).stream.cancel();
    expect(listings[0]!.url).to.match(/^https:\/\/mirror\.test\/api\/models\/org\/name\//);
    for (const headers of [listings[0]!.headers, server.requests[0]!.headers])
      expect(headers.get('Authorization')).to.equal('Bearer hf_secret');
    const error = (await rejection(source.open('none'))) as Error;
    expect(`${error.message} ${JSON.stringify(error)}`).not.to.include('hf_secret');
  });

  it('open: a model that the Hub does not give is model-not-found, and a failed listing is asked for again', async () => {
    const { fetch, server, source } = await hub();
    const refused: unknown = await rejection(createHubSource('org/other', { fetch }).open('config.json'));
    expect(refused).to.have.property('code', 'model-not-found');
    expect(refused).to.have.property('message').that.matches(/access token/);
    server.isOffline = true;
    expect(await rejection(source.open('config.json'))).to.have.property('code', 'network');
    server.isOffline = false;
    await (await source.open('config.json')).stream.cancel();
    expect(() => createHubSource('no-owner')).to.throw(TypeError);
  });

  it('storedSource: a model of the Hub is verified by the digest of the listing, and loads offline without a listing', async () => {
    const { server, fetch, listings } = await hub();
    const store = createTestStore();
    const load = (): Promise<Uint8Array> =>
      readAll(storedSource(createHubSource('org/name', { fetch }), { store, retry: instantRetry() }), '*Q4_0.gguf');
    server.faults = [{ kind: 'flip-bit', atByte: 5000 }];
    expect(await rejection(load())).to.have.property('code', 'model-invalid');
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
    const asked = listings.length;
    server.isOffline = true;
    expect(sameBytes(await load(), WEIGHTS)).to.equal(true);
    expect(listings).to.have.length(asked);
    await store.destroy();
  });
});
