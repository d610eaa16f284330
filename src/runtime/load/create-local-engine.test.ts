import { expect } from 'chai';
import type { TokenEvent } from '../../shared/generation.ts';
import type { LoadProgress } from '../../shared/info.ts';
import { fakeAdapter, fakeGpu } from '../backends/onnx/testing/fake-gpu.ts';
import { createLocalEngine } from './create-local-engine.ts';
import type { Engine } from '../request/engine.ts';

const rejection = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

async function answer(engine: Engine, question: string): Promise<TokenEvent[]> {
  const events: TokenEvent[] = [];
  for await (const event of engine.generate({ messages: [{ role: 'user', content: question }], maxTokens: 24 }))
    events.push(event);
  return events;
}

describe('createLocalEngine', () => {
  it('createLocalEngine: auto takes WASM on the software adapter, says why, and answers', async () => {
    const progress: LoadProgress[] = [];
    const engine = await createLocalEngine({ model: 'tutor', onProgress: (event) => progress.push(event) });
    expect(engine.info).to.include({ engine: 'wasm', worker: false });
    expect(engine.info.reason).to.match(/software/);
    expect(engine.info.model.id).to.equal('tutor');
    expect(progress.at(-1)!.phase).to.equal('ready');
    const events = await answer(engine, 'What is TTFT?');
    expect(events[0]!.type).to.equal('start');
    const text = events.map((event) => (event.type === 'delta' ? event.text : '')).join('');
    expect(text.trim()).not.to.equal('');
    expect(text).not.to.match(/<\|/);
    expect(events.at(-1)!.type).to.equal('end');
    await engine[Symbol.asyncDispose]();
  });

  it('createLocalEngine: an option that the named engine does not read is refused, with those that read it', async () => {
    const error = await rejection(createLocalEngine({ model: 'tutor', engine: 'webgpu', threads: 2 }));
    expect(error).to.be.instanceOf(TypeError);
    expect((error as Error).message).to.equal(
      'Cannot create an engine: webgpu has no option threads; leave it out, or take wasm or onnx-wasm',
    );
  });

  it('createLocalEngine: auto takes WASM where there is no adapter, and the engine asked for by name is refused', async () => {
    const gpu = fakeGpu(null);
    const engine = await createLocalEngine({ model: 'tutor', gpu, threads: 1, contextTokens: 64 });
    expect(engine.info).to.include({ engine: 'wasm', threads: 1 });
    expect(engine.info.reason).to.match(/no GPU adapter/);
    expect(engine.info.model.contextTokens).to.equal(64);
    await engine[Symbol.asyncDispose]();
    const refused = await rejection(createLocalEngine({ model: 'tutor', engine: 'onnx-webgpu', gpu }));
    expect(refused).to.have.property('code', 'no-adapter');
  });

  it('createLocalEngine: where the GPU does not do, auto goes on to the next engine and says what happened', async () => {
    // Looks like a real GPU, and gives no device.
    const adapter = Object.assign(fakeAdapter({ vendor: 'nvidia', description: 'Broken GPU' }), {
      requestDevice: () => Promise.reject(new DOMException('no device', 'OperationError')),
    });
    const engine = await createLocalEngine({ model: 'tutor', gpu: fakeGpu(adapter) });
    expect(engine.info.engine).to.equal('wasm');
    expect(engine.info.reason).to.match(/Broken GPU.*no device/);
    await engine[Symbol.asyncDispose]();
  });

  it('createLocalEngine: a model that is not there, one of another format and an aborted load each have their own error', async () => {
    const engine = 'onnx-wasm';
    const codeOf = async (model: string): Promise<unknown> =>
      ((await rejection(createLocalEngine({ model, engine }))) as { code?: unknown }).code;
    expect(await codeOf('nonesuch')).to.equal('model-not-found');
    expect(await codeOf(new URL('./no-such-model/', import.meta.url).href)).to.equal('model-not-found');
    expect(await codeOf('/models/tutor/tutor.q4_0.gguf')).to.equal('model-unsupported');
    const aborted = createLocalEngine({ model: 'tutor', engine, signal: AbortSignal.abort() });
    expect(await rejection(aborted)).to.have.property('name', 'AbortError');
  });
});
