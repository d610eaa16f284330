import { expect } from 'chai';
import { readBytes, readJson, readOptionalJson } from './read-file.ts';
import { createUrlSource, fetchFile } from './url-source.ts';

const rejection = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
const CONTENT = Uint8Array.from({ length: 100 }, (_, index) => index);

/** Answers every request the same way, and notes them. */
function server(answer: (request: Request) => Response | Promise<Response>) {
  const requests: Request[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(input instanceof Request ? input : new URL(input), init);
    requests.push(request);
    return Promise.resolve(answer(request));
  };
  return { requests, fetch, source: createUrlSource('https://host.test/models/m?x=1', { fetch }) };
}

const text = async (stream: ReadableStream<Uint8Array>): Promise<number[]> =>
  Array.from(new Uint8Array(await new Response(stream).arrayBuffer()));

describe('createUrlSource', () => {
  it('fetchFile: a file that a bundler put into the code is decoded without a fetch, whole and in part', async () => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError('It was fetched'));
    for (const href of ['data:application/json;base64,eyJhIjoxfQ==', 'data:application/json,%7B%22a%22%3A1%7D']) {
      const whole = await fetchFile(new URL(href), {}, { fetch });
      expect(await new Response(whole.stream).text()).to.equal('{"a":1}');
      expect(whole.totalBytes).to.equal(7);
      const part = await fetchFile(new URL(href), { start: 1, end: 4 }, { fetch });
      expect(await new Response(part.stream).text()).to.equal('"a"');
    }
  });

  it('open: streams the file below the base, with its size and ETag', async () => {
    const { source, requests } = server(
      () => new Response(CONTENT, { headers: { ETag: '"v1"', 'Content-Length': '100' } }),
    );
    const file = await source.open('onnx/model.onnx');
    expect(requests[0]!.url).to.equal('https://host.test/models/m/onnx/model.onnx');
    expect(requests[0]!.headers.has('Range')).to.equal(false);
    expect(file).to.include({ totalBytes: 100, etag: '"v1"' });
    expect(await text(file.stream)).to.deep.equal([...CONTENT]);
  });

  it('open: asks for a range, and cuts it out itself where the server sends the whole file', async () => {
    const ranged = server(
      () => new Response(CONTENT.slice(10, 20), { status: 206, headers: { 'Content-Range': 'bytes 10-19/100' } }),
    );
    const part = await ranged.source.open('f', { start: 10, end: 20 });
    expect(ranged.requests[0]!.headers.get('Range')).to.equal('bytes=10-19');
    expect(part.totalBytes).to.equal(100);
    expect(await text(part.stream)).to.deep.equal([...CONTENT.slice(10, 20)]);

    const pieces = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < 100; at += 7) controller.enqueue(CONTENT.slice(at, at + 7));
          controller.close();
        },
      });
    const whole = server(() => new Response(pieces(), { headers: { 'Content-Length': '100' } }));
    const cut = await whole.source.open('f', { start: 10, end: 40 });
    expect(cut.totalBytes).to.equal(100);
    expect(await text(cut.stream)).to.deep.equal([...CONTENT.slice(10, 40)]);
    const tail = await whole.source.open('f', { start: 95 });
    expect(await text(tail.stream)).to.deep.equal([95, 96, 97, 98, 99]);
  });

  it('open: does not take the length of a compressed answer for that of the file', async () => {
    const { source } = server(
      () => new Response(CONTENT, { headers: { 'Content-Length': '40', 'Content-Encoding': 'gzip' } }),
    );
    expect(await readBytes(source, 'f')).to.deep.equal(CONTENT);
  });

  for (const [status, code] of [
    [404, 'model-not-found'],
    [410, 'model-not-found'],
    [403, 'network'],
    [503, 'network'],
  ] as const)
    it(`open: HTTP ${status} is ${code}`, async () => {
      const { source } = server(() => new Response('no', { status }));
      const error = await rejection(source.open('f'));
      expect(error).to.include({ name: 'TokenglassError', code });
      expect((error as { details: object }).details).to.include({ status, url: 'https://host.test/models/m/f' });
    });

  it('open: a web page with status 200 is model-not-found', async () => {
    const { source } = server(() => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }));
    expect(await rejection(source.open('f'))).to.include({ code: 'model-not-found' });
  });

  it('open: a failed connection is network, also in the middle of a file', async () => {
    const refused = server(() => Promise.reject(new TypeError('Failed to fetch')));
    expect(await rejection(refused.source.open('f'))).to.include({ code: 'network' });
    const broken = server(() => {
      let isFirst = true;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (isFirst) controller.enqueue(CONTENT);
          else controller.error(new TypeError('reset'));
          isFirst = false;
        },
      });
      return new Response(stream);
    });
    expect(await rejection(readBytes(broken.source, 'f'))).to.include({ code: 'network' });
  });

  it('open: an aborted request is an AbortError, whatever the reason', async () => {
    const controller = new AbortController();
    controller.abort('because');
    const { source } = server((request) => {
      request.signal.throwIfAborted();
      return new Response(CONTENT);
    });
    const error = await rejection(source.open('f', { signal: controller.signal }));
    expect(error).to.have.property('name', 'AbortError');
  });
});

describe('readBytes', () => {
  it('readBytes: reports bytes, and a file that ends early is network', async () => {
    const seen: [number, number | undefined][] = [];
    const { source } = server(() => new Response(CONTENT, { headers: { 'Content-Length': '100' } }));
    await readBytes(source, 'f', { onBytes: (loaded, total) => seen.push([loaded, total]) });
    expect(seen.at(-1)).to.deep.equal([100, 100]);
    const short = server(() => new Response(CONTENT, { headers: { 'Content-Length': '101' } }));
    const error = await rejection(readBytes(short.source, 'f'));
    expect(error).to.include({ code: 'network' });
    expect((error as { details: object }).details).to.include({ loadedBytes: 100, totalBytes: 101 });
  });
});

describe('readJson', () => {
  it('readJson: text that is no JSON is model-invalid; a missing file may be allowed', async () => {
    const { source } = server(() => new Response('{"a": 1'));
    expect(await rejection(readJson(source, 'config.json'))).to.include({ code: 'model-invalid' });
    expect(await rejection(readOptionalJson(source, 'config.json'))).to.include({ code: 'model-invalid' });
    const none = server(() => new Response('', { status: 404 }));
    expect(await readOptionalJson(none.source, 'config.json')).to.equal(undefined);
  });
});
