import { expect } from 'chai';
import type { PrefixCacheStats } from '../../shared/prefix-cache.ts';
import { CATALOG } from '../../runtime/models/catalog-entries.ts';
import type { StoredModelInfo } from '../../runtime/models/store/model-store.ts';
import { storedSource } from '../../runtime/models/stored-source.ts';
import { FaultServer, weightsLike } from '../../runtime/models/testing/fault-server.ts';
import { createTestStore, readAll, type TestStore } from '../../runtime/models/testing/test-store.ts';
import { createUrlSource } from '../../runtime/models/url-source.ts';
import { seriousViolations } from '../testing/axe.ts';
import { inBothSchemes, inside, mount, nextEvent, unmountAll } from '../testing/fixture.ts';
import { ScriptedEngine } from '../testing/scripted-engine.ts';
import { modelRows } from './model-rows.ts';
import { TgModels } from './models.ts';

const storedModel = (id: string, path: string, isComplete = true): StoredModelInfo => ({
  id,
  files: [{ path, storedBytes: 2_000_000, isComplete }],
  storedBytes: 2_000_000,
  isComplete,
  lastUsedAtMs: Date.now() - 7_200_000,
});

const SMOL = 'bartowski/SmolLM2-135M-Instruct-GGUF';

describe('modelRows', () => {
  it('modelRows: the catalog with what is stored of each format, and then what else is stored, by what loads it again', () => {
    const stored = [
      storedModel('org/other', 'sub/m.gguf'),
      storedModel(SMOL, 'm.gguf'),
      storedModel('onnx-community/SmolLM2-135M-Instruct-ONNX', 'onnx/model_q4.onnx'),
      storedModel('https://host.test/m.gguf', 'm.gguf'),
      storedModel('org/onnx', 'onnx/model_q4.onnx'),
    ];
    const rows = modelRows(CATALOG, stored);
    expect(rows.slice(0, CATALOG.length).map(({ model }) => model)).to.deep.equal(CATALOG.map(({ name }) => name));
    expect(rows.find(({ model }) => model === 'smollm2-135m')!.stored).to.deep.equal([stored[1], stored[2]]);
    expect(rows.slice(CATALOG.length).map(({ model }) => model)).to.deep.equal([
      'hf:org/other/sub/m.gguf',
      'https://host.test/m.gguf',
      'hf:org/onnx',
    ]);
  });
});

describe('TgModels', () => {
  let store: TestStore;
  const server = new FaultServer();

  beforeEach(() => {
    store = createTestStore();
  });
  afterEach(async () => {
    unmountAll();
    await store.destroy();
  });

  async function keep(id: string, bytes: number): Promise<void> {
    server.serve('/m.gguf', { bytes: weightsLike('gguf', bytes, bytes), etag: `"${bytes}"` });
    const source = createUrlSource('https://host.test/', { id, fetch: server.fetch });
    await readAll(storedSource(source, { store }), 'm.gguf');
  }

  async function models(set: Partial<TgModels> = {}): Promise<TgModels> {
    const element = Object.assign(new TgModels(), { store, ...set });
    await mount(element);
    await element.refresh();
    await element.updateComplete;
    return element;
  }

  const rowOf = (element: TgModels, title: string): HTMLElement =>
    [...element.renderRoot.querySelectorAll<HTMLElement>('.row')].find((row) => row.textContent.includes(title))!;

  it('TgModels: lists what can be had with its size, and what is kept with its size and last use', async () => {
    await keep(SMOL, 20_000);
    const element = await models({ current: 'tutor' });
    expect(rowOf(element, 'Tutor').textContent).to.include('built in').and.to.include('in use');
    expect(rowOf(element, 'Tutor').querySelector('.use')).to.equal(null);
    expect(rowOf(element, 'SmolLM2 135M').textContent)
      .to.match(/135M parameters · 105 MB · on this device, 20[.,]0 kB, used just now/);
    expect(rowOf(element, 'Qwen2.5').textContent).to.include('about 429 MB').and.not.to.include('on this device');
    expect(inside(element, '.space').textContent).to.match(/20[.,]0 kB of models on this device, .+ free/);
  });

  it('TgModels: says which model is wanted', async () => {
    const element = await models();
    const wanted = nextEvent(element, 'tg-model');
    rowOf(element, 'Qwen3').querySelector<HTMLElement>('.use')!.click();
    expect((await wanted).model).to.equal('qwen3-0.6b');
  });

  it('TgModels: deletes when asked twice, says so, and keeps the focus; asked once and left, it does not', async () => {
    await keep(SMOL, 20_000);
    await keep('https://host.test/other.gguf', 30_000);
    const element = await models();
    const button = (): HTMLElement => rowOf(element, 'SmolLM2 135M').querySelector<HTMLElement>('.delete')!;
    button().click();
    await element.updateComplete;
    expect(button().textContent).to.match(/Delete 20[.,]0 kB\?/);
    button().dispatchEvent(new FocusEvent('blur'));
    await element.updateComplete;
    expect(button().textContent.trim()).to.equal('Delete');
    button().click();
    await element.updateComplete;
    button().click();
    while (inside(element, '[role=status]').textContent.includes('again')) await new Promise((resolve) => setTimeout(resolve));
    while (rowOf(element, 'SmolLM2 135M').querySelector('.delete')) await new Promise((resolve) => setTimeout(resolve));
    expect((await store.list()).map(({ id }) => id)).to.deep.equal(['https://host.test/other.gguf']);
    expect(inside(element, '[role=status]').textContent).to.match(/SmolLM2 135M deleted, 20[.,]0 kB freed/);
    expect(rowOf(element, 'other.gguf').textContent).to.include('on this device');
  });

  it('TgModels: shows the KV that is kept and its bytes a token, and clears it', async () => {
    let cleared = 0;
    const stats = (): Promise<PrefixCacheStats> =>
      Promise.resolve({
        lookups: 2,
        promptTokens: 100,
        memoryTokens: 64,
        storedTokens: 0,
        hitRate: 0.64,
        blockTokens: 32,
        bytesPerToken: 6144,
        memory: { blocks: 2, bytes: cleared ? 0 : 393_216, evicted: 0 },
        stored: { blocks: 2, bytes: cleared ? 0 : 393_216, evicted: 0, rejected: 0 },
      });
    const clear = (): Promise<void> => Promise.resolve(void (cleared += 1));
    const engine = Object.assign(new ScriptedEngine(() => ({ tokens: [] })), { prefixCache: { stats, clear } });
    const element = await models({ engine: engine as unknown as ScriptedEngine });
    expect(inside(element, '.cache').textContent).to.match(/393 kB in memory · 393 kB stored · 6[.,]1 kB a token · 64 %/);
    inside(element, '.clear').click();
    while (!inside(element, '.cache').textContent.includes('0 B in memory')) await new Promise((resolve) => setTimeout(resolve));
    expect(cleared).to.equal(1);
  });

  it('TgModels: a store that cannot be read is said, and models can still be chosen', async () => {
    const list = (): Promise<never> => Promise.reject(new DOMException('The disk is gone', 'UnknownError'));
    const element = await models({ store: { ...store, list } });
    expect(inside(element, '.fault').textContent).to.include('The disk is gone');
    expect(element.renderRoot.querySelectorAll('.use').length).to.equal(CATALOG.length);
  });

  it('TgModels: takes the store of the page by itself', async () => {
    const element = await mount(new TgModels());
    await element.refresh();
    await element.updateComplete;
    expect(inside(element, '.space').textContent).to.include('of models on this device');
  });

  it('TgModels: axe finds nothing serious, light and dark', async () => {
    await keep(SMOL, 20_000);
    const element = await models({ current: 'tutor' });
    await inBothSchemes(async () => expect(await seriousViolations(element)).to.deep.equal([]));
  });
});
