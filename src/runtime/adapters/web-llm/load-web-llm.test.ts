import { expect } from 'chai';
import type { LoadProgress } from '../../../shared/info.ts';
import { answer, rejection, settle } from '../../engine/testing/collect.ts';
import { loadWebLlm, type WebLlmOptions } from './load-web-llm.ts';
import type { FakeMlcOptions } from './testing/fake-mlc-engine.ts';
import { mlcError } from './testing/fake-mlc-errors.ts';
import { FAKE_MODEL, fakeMlc } from './testing/fake-mlc-library.ts';

const MIB = 2 ** 20;
const fetching = (shard: number, megabytes: number, progress: number) => ({
  progress,
  text: `Fetching param cache[${shard}/4]: ${megabytes}MB fetched. ${Math.floor(progress * 100)}% completed, 1 secs elapsed. It can take a while when we first visit this page to populate the cache.`,
});
const reading = (shard: number, megabytes: number, progress: number) => ({
  progress,
  text: `Loading model from cache[${shard}/4]: ${megabytes}MB loaded. ${Math.floor(progress * 100)}% completed, 1 secs elapsed.`,
});
const SHADERS = { progress: 0.5, text: 'Loading GPU shader modules[10/20]: 50% completed, 1 secs elapsed.' };

async function progressOf(options: FakeMlcOptions, more: Partial<WebLlmOptions> = {}): Promise<LoadProgress[]> {
  const told: LoadProgress[] = [];
  const { library } = fakeMlc(options);
  await loadWebLlm({ model: FAKE_MODEL, library, onProgress: (progress) => void told.push(progress), ...more });
  return told;
}

const failure = async (error: unknown): Promise<Error & { code?: string; details: Record<string, unknown> }> => {
  const { library } = fakeMlc({
    onLoad: () => {
      throw error;
    },
  });
  const rejected = await rejection(loadWebLlm({ model: FAKE_MODEL, library }));
  return rejected as Error & { code?: string; details: Record<string, unknown> };
};

describe('loadWebLlm', () => {
  it('progress: a download in bytes, then the copy to the GPU and the shaders, then ready', async () => {
    const progress = [
      { progress: NaN, text: 'Start to fetch params' },
      fetching(1, 26, 0.25),
      fetching(4, 101, 1),
      reading(2, 51, 0.5),
      reading(4, 101, 1),
      SHADERS,
    ];
    const told = await progressOf({ progress });
    expect(told.map(({ phase }) => phase)).to.deep.equal([
      'download',
      'download',
      'download',
      'compile',
      'compile',
      'compile',
      'ready',
    ]);
    const bytes = told.map(({ loadedBytes }) => Math.round(loadedBytes / MIB));
    expect(bytes).to.deep.equal([0, 26, 101, 101, 101, 101, 101]);
    expect(told.at(-1)!.totalBytes).to.equal(101 * MIB);
    expect(told.every(({ warning }) => warning === undefined)).to.equal(true);
  });

  it('progress: weights that are kept already count as stored', async () => {
    const told = await progressOf({ progress: [reading(2, 51, 0.5), reading(4, 101, 1), SHADERS] });
    expect(told[0]!.phase).to.equal('download');
    expect(told[1]!.storedBytes).to.equal(101 * MIB);
  });

  it('progress: warns of a model library from localhost, which is never kept', async () => {
    const model = (host: string) => ({ modelUrl: `http://${host}/m`, modelLibUrl: `http://${host}/m.wasm` });
    const [local] = await progressOf({ progress: [SHADERS] }, { model: model('localhost:8000') });
    expect(local!.warning?.code).to.equal('not-saved');
    const [numbered] = await progressOf({ progress: [SHADERS] }, { model: model('127.0.0.1:8000') });
    expect(numbered).not.to.have.property('warning');
  });

  it('info: what the config and the weights tell, and what nobody tells as unknown', async () => {
    const { library } = fakeMlc();
    const { info } = await loadWebLlm({ model: FAKE_MODEL, library });
    expect(info).to.include({ engine: 'web-llm', version: 'v0_2_86/base', worker: false });
    expect(info.model).to.include({
      id: FAKE_MODEL,
      quantization: 'q4f16_1',
      layers: 2,
      headDim: 16,
      kvBytesPerToken: 2 * 2 * 2 * 16 * 2,
      weightBytes: 45_000,
      parameters: 80_000,
    });
    expect(info.model).not.to.have.property('unknown');
    expect(info.adapter?.description).to.equal('rocket');
    const worker = await loadWebLlm({ model: FAKE_MODEL, library, mlcWorker: {} as Worker });
    expect(worker.info.model.contextTokens).to.equal(4096);
    expect(worker.info.model.unknown).to.include.members(['architecture', 'layers', 'weightBytes']);
  });

  it('options: the cache, the context and the URLs reach the library', async () => {
    const { library } = fakeMlc();
    const mlc = await library();
    const configs: unknown[] = [];
    const spied = {
      ...mlc,
      MLCEngine: function (config: never) {
        configs.push(config);
        return new mlc.MLCEngine(config);
      } as unknown as typeof mlc.MLCEngine,
    };
    await loadWebLlm({
      model: { modelUrl: '/models/mine', modelLibUrl: '/models/mine.wasm' },
      cacheBackend: 'indexeddb',
      contextTokens: 2048,
      library: () => Promise.resolve(spied),
    });
    const [{ appConfig }] = configs as [{ appConfig: { cacheBackend: string; model_list: object[] } }];
    expect(appConfig.cacheBackend).to.equal('indexeddb');
    expect(appConfig.model_list[0]).to.deep.equal({
      model: `${location.origin}/models/mine`,
      model_id: 'mine',
      model_lib: `${location.origin}/models/mine.wasm`,
      overrides: { context_window_size: 2048 },
    });
  });

  for (const [name, reject] of [
    ['as the library does for an AbortError: by resolving', (abort: () => void) => abort()],
    ['with the reason of unload, which is no error', (_abort: () => void, reason: () => void) => reason()],
  ] as const)
    it(`abort: ends a load that ends ${name}, and unloads what is there then`, async () => {
      let began = (): void => undefined;
      const beginning = new Promise<void>((resolve) => (began = resolve));
      const { library, engines } = fakeMlc({
        onLoad: (signal) =>
          new Promise((_, fail) => {
            signal.addEventListener('abort', () =>
              reject(
                () => fail(new DOMException('aborted', 'AbortError')),
                // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as a fetch does
                () => fail(signal.reason),
              ),
            );
            began();
          }),
      });
      const controller = new AbortController();
      const loading = rejection(loadWebLlm({ model: FAKE_MODEL, library, signal: controller.signal }));
      await beginning;
      controller.abort();
      expect((await loading).name).to.equal('AbortError');
      await settle();
      expect(engines[0]!.unloads).to.be.at.least(2);
      expect(engines[0]!.loadedModelIdToPipeline.size).to.equal(0);
      const early = rejection(loadWebLlm({ model: FAKE_MODEL, library, signal: AbortSignal.abort() }));
      expect((await early).name).to.equal('AbortError');
    });

  it('errors: each fault of a load has its code, and a broken file offers to clear the cache', async () => {
    const codes: [string, unknown][] = [
      ['missing-feature', mlcError('ShaderF16SupportError', 'This model requires WebGPU extension shader-f16')],
      ['no-webgpu', mlcError('WebGPUNotAvailableError', 'WebGPU is not supported in your current environment')],
      ['device-lost', mlcError('DeviceLostError', 'The WebGPU device was lost while loading the model.')],
      ['device-lost', 'DeviceLostError: The WebGPU device was lost while loading the model.'],
      ['storage-full', new DOMException('Quota exceeded.', 'QuotaExceededError')],
      ['model-unsupported', new WebAssembly.LinkError('Import #4 "env" "X": function import requires a callable')],
      ['network', new TypeError('Failed to fetch')],
      ['network', new TypeError("Failed to execute 'add' on 'Cache': Request failed")],
      ['model-invalid', new SyntaxError(`Unexpected token '<', "<!doctype "... is not valid JSON`)],
      ['model-invalid', new RangeError('Invalid typed array length: 4096')],
      ['model-invalid', 'SyntaxError: Unexpected token'],
    ];
    for (const [code, thrown] of codes) {
      const error = await failure(thrown);
      expect(error.code, String(thrown)).to.equal(code);
      expect(error.details['clearCache']).to.equal(code === 'model-invalid' ? FAKE_MODEL : undefined);
    }
    expect((await failure(new SyntaxError('x'))).message).to.contain(`clearWebLlmCache("${FAKE_MODEL}")`);
  });

  it('errors: a name that is not in the catalog, a model of embeddings, a URL that is none', async () => {
    const { library } = fakeMlc();
    const load = (model: WebLlmOptions['model']) => rejection(loadWebLlm({ model, library }));
    expect((await load('gpt-9')).code).to.equal('model-not-found');
    expect((await load('embed-MLC')).code).to.equal('model-unsupported');
    expect(await load({ modelUrl: 'http://', modelLibUrl: '/x.wasm' })).to.be.instanceOf(TypeError);
  });

  it('errors: after a load that failed, the next one works', async () => {
    let loads = 0;
    const onLoad = (): Promise<void> =>
      loads++ === 0 ? Promise.reject(new SyntaxError('Unexpected token')) : Promise.resolve();
    const { library } = fakeMlc({ onLoad });
    await rejection(loadWebLlm({ model: FAKE_MODEL, library }));
    const engine = await loadWebLlm({ model: FAKE_MODEL, library });
    expect((await answer(engine, { prompt: 'hi', maxTokens: 3, ignoreEos: true })).ids).to.have.length(3);
  });
});
