import { expect } from 'chai';
import type { LoadProgress } from '../../../shared/info.ts';
import { createUrlSource } from '../../models/url-source.ts';
import { runTokens } from '../testing/run-tokens.ts';
import { createOnnxBackend } from './create-onnx-backend.ts';
import { memorySource, tinyModel, tinySource } from './testing/tiny-model.ts';

/** A server in memory, by path. */
function fakeFetch(answers: Readonly<Record<string, () => Response>>): typeof fetch {
  return (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    return Promise.resolve((answers[pathname] ?? (() => new Response('Not found', { status: 404 })))());
  };
}

const failing = (load: Promise<unknown>): Promise<unknown> => load.catch((error: unknown) => error);

describe('createOnnxBackend', () => {
  const { model, config } = tinyModel();
  const withFiles = (answers: Readonly<Record<string, () => Response>>) =>
    createUrlSource('https://models.test/m', { fetch: fakeFetch(answers) });

  it('createOnnxBackend: reports bytes as they come, then compile, warm-up and ready', async () => {
    const progress: LoadProgress[] = [];
    const backend = await createOnnxBackend({
      source: tinySource({ split: true }),
      device: 'wasm',
      onProgress: (event) => progress.push(event),
    });
    await backend.dispose();
    const phases = [...new Set(progress.map(({ phase }) => phase))];
    expect(phases).to.deep.equal(['download', 'compile', 'warm-up', 'ready']);
    const bytes = progress.map(({ loadedBytes }) => loadedBytes);
    expect(bytes).to.deep.equal([...bytes].sort((a, b) => a - b));
    const { model: graph, external } = tinyModel({ split: true });
    expect(progress.at(-1)).to.include({ totalBytes: graph.length + external!.length });
  });

  it('createOnnxBackend: a missing model is model-not-found', async () => {
    const source = withFiles({ '/m/config.json': () => Response.json(config) });
    expect(await failing(createOnnxBackend({ source, device: 'wasm' }))).to.have.property('code', 'model-not-found');
  });

  it('createOnnxBackend: a web page in place of the model is refused, whatever type it is sent as', async () => {
    const page = '<!doctype html><title>App</title>';
    const source = withFiles({
      '/m/config.json': () => Response.json(config),
      '/m/onnx/model_q4.onnx': () => new Response(page, { headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
    });
    const named: unknown = await failing(createOnnxBackend({ source, device: 'wasm' }));
    expect(named).to.have.property('code', 'model-not-found');
    expect(named).to.have.property('message').that.includes('web page');
    const untyped = withFiles({
      '/m/config.json': () => Response.json(config),
      '/m/onnx/model_q4.onnx': () => new Response(page, { headers: { 'Content-Type': 'application/octet-stream' } }),
    });
    const sniffed: unknown = await failing(createOnnxBackend({ source: untyped, device: 'wasm' }));
    expect(sniffed).to.have.property('code', 'model-invalid');
  });

  it('createOnnxBackend: a model cut short and one of noise are model-invalid', async () => {
    const broken = [model.slice(0, 50_000), Uint8Array.from({ length: 5000 }, (_, index) => (index * 7) % 251)];
    for (const bytes of broken) {
      const source = memorySource({ 'config.json': config, 'onnx/model_q4.onnx': bytes });
      expect(await failing(createOnnxBackend({ source, device: 'wasm' }))).to.have.property('code', 'model-invalid');
    }
    const good = await createOnnxBackend({ source: tinySource(), device: 'wasm' });
    expect(await runTokens(good, [1, 2, 3], 2)).to.have.length(2);
    await good.dispose();
  });

  it('createOnnxBackend: an external file outside the folder is refused', async () => {
    const bad = new TextDecoder('latin1').decode(tinyModel({ split: true }).model);
    const name = bad.replace('model_q4.onnx_data', '../q4_model_q4.onn');
    const bytes = Uint8Array.from(name, (char) => char.charCodeAt(0));
    const source = memorySource({ 'config.json': config, 'onnx/model_q4.onnx': bytes });
    expect(await failing(createOnnxBackend({ source, device: 'wasm' }))).to.have.property('code', 'model-invalid');
  });

  it('createOnnxBackend: an abort in the middle of the download ends it with AbortError', async () => {
    const controller = new AbortController();
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (stream) => stream.enqueue(new Uint8Array(1000)),
      cancel: () => {
        isCancelled = true;
      },
    });
    const source = withFiles({
      '/m/config.json': () => Response.json(config),
      '/m/onnx/model_q4.onnx': () => new Response(endless),
    });
    const load = createOnnxBackend({
      source,
      device: 'wasm',
      signal: controller.signal,
      onProgress: ({ loadedBytes }) => {
        if (loadedBytes > 20_000) controller.abort();
      },
    });
    expect(await failing(load)).to.have.property('name', 'AbortError');
    expect(isCancelled).to.equal(true);
  });

  it('createOnnxBackend: an abort before and one after the download end it with AbortError', async () => {
    const before = createOnnxBackend({ source: tinySource(), device: 'wasm', signal: AbortSignal.abort() });
    expect(await failing(before)).to.have.property('name', 'AbortError');
    const controller = new AbortController();
    const after = createOnnxBackend({
      source: tinySource(),
      device: 'wasm',
      signal: controller.signal,
      onProgress: ({ phase }) => {
        if (phase === 'warm-up') controller.abort();
      },
    });
    expect(await failing(after)).to.have.property('name', 'AbortError');
  });

  it('createOnnxBackend: where onnxruntime-web is not served, the error says so, and the next load works', async () => {
    const lost: unknown = await failing(
      createOnnxBackend({ source: tinySource(), device: 'wasm', ortBaseUrl: '/no/such/folder' }),
    );
    expect(lost).to.have.property('code', 'network');
    const base = new URL('../../../../node_modules/onnxruntime-web/dist/', import.meta.url);
    const backend = await createOnnxBackend({ source: tinySource(), device: 'wasm', ortBaseUrl: base.pathname });
    expect(await runTokens(backend, [1, 2, 3], 2)).to.have.length(2);
    await backend.dispose();
  });

  it('createOnnxBackend: a context that is no whole number above 0 is a RangeError', async () => {
    for (const contextTokens of [0, -1, 1.5, Number.NaN]) {
      const load = createOnnxBackend({ source: tinySource(), device: 'wasm', contextTokens });
      expect(await failing(load)).to.be.instanceOf(RangeError);
    }
  });
});
