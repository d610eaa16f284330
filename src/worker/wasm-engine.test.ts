import { expect } from 'chai';
import type { Engine } from '../runtime/request/engine.ts';
import { createEngine } from './create-engine.ts';
import { createLocalEngine } from '../runtime/load/create-local-engine.ts';

describe('the engine wasm', () => {
  const answer = async (engine: Engine): Promise<string> => {
    let text = '';
    for await (const event of engine.generate({ prompt: 'The KV cache', maxTokens: 12 }))
      if (event.type === 'delta') text += event.text;
    return text;
  };

  it('createEngine: in a worker it runs on two threads, in the page on one, with the same answer', async () => {
    const inWorker = await createEngine({ model: 'tutor', engine: 'wasm', threads: 2, contextTokens: 64 });
    const inPage = await createLocalEngine({ model: 'tutor', engine: 'wasm', contextTokens: 64 });
    expect(inWorker.info).to.include({ engine: 'wasm', threads: 2 });
    expect(inPage.info).to.include({ engine: 'wasm', threads: 1 });
    expect(await answer(inWorker)).to.equal(await answer(inPage));
    await inWorker[Symbol.asyncDispose]();
    await inPage[Symbol.asyncDispose]();
  });
});
