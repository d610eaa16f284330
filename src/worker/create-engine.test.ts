import { expect } from 'chai';
import { scriptedServer } from '../runtime/adapters/endpoint/testing/scripted-server.ts';
import { rejection } from '../runtime/engine/testing/collect.ts';
import { createEngine } from './create-engine.ts';

describe('createEngine', () => {
  const { fetch } = scriptedServer([], { owned_by: 'vllm' });
  const fallback = { baseURL: 'http://server/v1', model: 'm', fetch };

  it('createEngine: without options or a model, and with a misspelt option, it says what is meant', async () => {
    const create = createEngine as unknown as (options?: unknown) => Promise<unknown>;
    const messageOf = async (options?: unknown): Promise<string> => {
      const error: unknown = await create(options).catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(TypeError);
      return (error as Error).message;
    };
    expect(await messageOf()).to.equal(
      "Cannot create an engine without options: name a model, as in createEngine({ model: 'tutor' })",
    );
    expect(await messageOf({})).to.include('without a model');
    expect(await messageOf({ modle: 'tutor' })).to.include('no option "modle"; did you mean model?');
    expect(await messageOf({ model: 'tutor', onprogress: () => undefined })).to.include('did you mean onProgress?');
    expect(await messageOf({ model: 'tutor', ctxTokens: 8 })).to.include('did you mean contextTokens?');
    expect(await messageOf({ model: 'tutor', frobnicate: 1 })).to.include('; use model, engine, ');
  });

  it('fallback: a server is taken where the model does not run here, and the reason says why', async () => {
    const engine = await createEngine({ model: 'no-such-model', worker: false, fallback });
    expect(engine.info.engine).to.equal('endpoint');
    expect(engine.info.reason).to.contain('not on this device').and.to.contain('no-such-model');
    await engine[Symbol.asyncDispose]();
  });

  it('fallback: never replaces an engine that was asked for by name, and an abort is an abort', async () => {
    const named = createEngine({ model: 'tutor', engine: 'onnx-wasm', worker: false, fallback });
    expect(await rejection(named)).to.be.instanceOf(TypeError);
    const aborted = createEngine({ model: 'tutor', worker: false, fallback, signal: AbortSignal.abort() });
    expect((await rejection(aborted)).name).to.equal('AbortError');
  });

  it('web-llm: the library is imported in the worker, and there says that it has no such model', async () => {
    const error = await rejection(createEngine({ engine: 'web-llm', model: 'no-such-model' }));
    expect(error.code).to.equal('model-not-found');
    expect(error.message).to.contain('listWebLlmModels');
  });

  it('web-llm: its models are for it alone, and chosen files are not', async () => {
    const model = { modelUrl: './m', modelLibUrl: './m.wasm' };
    for (const engine of ['auto', 'webgpu'] as const)
      expect((await rejection(createEngine({ engine, model, worker: false }))).code).to.equal('model-unsupported');
    const files = createEngine({ engine: 'web-llm', model: { files: [] }, worker: false });
    expect((await rejection(files)).code).to.equal('model-unsupported');
  });

  it('share: an engine in the page, or in a worker of its own, cannot be shared', async () => {
    const error = await rejection(createEngine({ model: 'tutor', share: true, worker: false }));
    expect(error).to.be.instanceOf(TypeError);
  });
});
