import { expect } from 'chai';
import type { LoadProgress } from '../../shared/info.ts';
import { createLocalEngine } from './create-local-engine.ts';
import { createModelStore } from '../models/store/model-store.ts';

const MODEL = new URL('../../../models/tutor/', import.meta.url).href;

async function load(onProgress?: (progress: LoadProgress) => void): Promise<{ text: string; fingerprint: string }> {
  const engine = await createLocalEngine({
    model: MODEL,
    engine: 'onnx-wasm',
    threads: 1,
    contextTokens: 64,
    update: false,
    ...(onProgress && { onProgress }),
  });
  let text = '';
  for await (const event of engine.generate({ prompt: 'The KV cache', maxTokens: 6 }))
    if (event.type === 'delta') text += event.text;
  const { fingerprint } = engine.info.model;
  await engine[Symbol.asyncDispose]();
  return { text, fingerprint };
}

describe('createLocalEngine with a model from a URL', () => {
  it('createLocalEngine: the second load comes from the store, with the same model and answer, and asks the host for nothing', async () => {
    const store = createModelStore();
    const { fetch } = globalThis;
    const asked: string[] = [];
    globalThis.fetch = (input, init) => {
      const { url } = new Request(input, init);
      if (!url.startsWith(MODEL)) return fetch(input, init);
      asked.push(url);
      return fetch(input, init);
    };
    try {
      await store.delete(MODEL);
      const first = await load();
      expect(new Set(asked).size, 'each URL once').to.equal(asked.length);
      const firstRequests = asked.length;
      expect(firstRequests).to.be.greaterThan(2);
      const progress: LoadProgress[] = [];
      expect(await load((event) => progress.push(event))).to.deep.equal(first);
      expect(asked.slice(firstRequests)).to.deep.equal([]);
      const downloads = progress.filter(({ phase }) => phase === 'download');
      expect(downloads.at(-1)!.storedBytes).to.be.greaterThan(3_000_000);
      const stored = (await store.list()).find(({ id }) => id === MODEL)!;
      expect(stored.isComplete).to.equal(true);
    } finally {
      globalThis.fetch = fetch;
      await store.delete(MODEL);
      store.close();
    }
  });
});
