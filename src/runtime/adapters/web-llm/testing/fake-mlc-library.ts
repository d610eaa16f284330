import type { MlcChunk, MlcEngine, MlcEngineConfig, MlcLibrary, MlcRequest } from '../library.ts';
import { FakeMlcEngine, type FakeMlcOptions } from './fake-mlc-engine.ts';

export const FAKE_MODEL = 'Fake-1B-q4f16_1-MLC';

/** The package, with engines that need no GPU. */
export interface FakeMlc {
  library: () => Promise<MlcLibrary>;
  /** Every engine that was made, latest last. */
  engines: FakeMlcEngine[];
  /** Deletions that were asked for. */
  deleted: string[];
}

export function fakeMlc(options: FakeMlcOptions = {}): FakeMlc {
  const engines: FakeMlcEngine[] = [];
  const deleted: string[] = [];
  const make = (config?: MlcEngineConfig): FakeMlcEngine => {
    const engine = new FakeMlcEngine(options, config);
    engines.push(engine);
    return engine;
  };
  const remove =
    (what: string) =>
    (modelId: string): Promise<void> => {
      deleted.push(`${what} ${modelId}`);
      return Promise.resolve();
    };
  const library: MlcLibrary = {
    // A constructor may give another object.
    MLCEngine: function (config?: MlcEngineConfig) {
      return make(config);
    } as unknown as MlcLibrary['MLCEngine'],
    WebWorkerMLCEngine: function (_worker: Worker, config?: MlcEngineConfig) {
      return behindWorker(make(config));
    } as unknown as MlcLibrary['WebWorkerMLCEngine'],
    modelVersion: options.version === '0.2.79' ? 'v0_2_48' : 'v0_2_86/base',
    prebuiltAppConfig: {
      model_list: [
        {
          model: 'https://models.example/Fake-1B-q4f16_1-MLC',
          model_id: FAKE_MODEL,
          model_lib: 'https://libs.example/fake.wasm',
          vram_required_MB: 879.04,
          low_resource_required: true,
          required_features: ['shader-f16'],
          overrides: { context_window_size: 4096 },
        },
        {
          model: 'https://models.example/embed',
          model_id: 'embed-MLC',
          model_lib: 'https://libs.example/embed.wasm',
          model_type: 1,
        },
      ],
    },
    deleteModelInCache: remove('model'),
    deleteModelWasmInCache: remove('wasm'),
    deleteChatConfigInCache: remove('config'),
  };
  return { library: () => Promise.resolve(library), engines, deleted };
}

/** `WebWorkerMLCEngine`: the same calls over messages, without the private parts, and every error as a string. */
function behindWorker(engine: FakeMlcEngine): MlcEngine {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as its handler does it
  const asString = (error: unknown): Promise<never> => Promise.reject(String(error));
  const create =
    (call: (request: MlcRequest) => Promise<AsyncIterable<MlcChunk>>) =>
    async (request: MlcRequest): Promise<AsyncIterable<MlcChunk>> => {
      const chunks = (await call(structuredClone(request)).catch(asString))[Symbol.asyncIterator]();
      return { [Symbol.asyncIterator]: () => ({ next: () => chunks.next().catch(asString) }) };
    };
  return {
    chat: { completions: { create: create((request) => engine.chat.completions.create(request)) } },
    completions: { create: create((request) => engine.completions.create(request)) },
    reload: (modelId) => engine.reload(modelId).catch(asString),
    unload: () => engine.unload(),
    interruptGenerate: () => void engine.interruptGenerate(),
    resetChat: () => engine.resetChat(),
  };
}
