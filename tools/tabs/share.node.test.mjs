// Several real tabs on one engine with the built-in model: each answers, and when the one that hosts is closed, another takes over.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { build } from 'vite';
import { launchProfile, openPageIn } from '../browser.mjs';
import { serveFolder } from '../server.mjs';

const TOKENS = 24;

describe('several tabs on one engine', () => {
  let folder;
  let server;
  let profile;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tokenglass-share-'));
    await build({
      configFile: false,
      base: './',
      logLevel: 'silent',
      worker: { format: 'es' },
      assetsInclude: ['**/*.gguf', '**/*.onnx'],
      build: {
        outDir: folder,
        target: 'es2022',
        assetsInlineLimit: 0,
        rolldownOptions: { input: 'tools/tabs/share-page.ts', output: { entryFileNames: 'page.js' } },
      },
    });
    writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="page.js"></script>');
    server = await serveFolder(folder);
    profile = await launchProfile();
  });
  after(async () => {
    await profile?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function openTab(options) {
    const { page } = await openPageIn(profile.context, 'http://127.0.0.1');
    await page.goto(`${server.url}index.html`);
    await page.waitForFunction(() => window.share !== undefined);
    return { page, info: await page.evaluate((given) => window.share.open(given), options) };
  }
  const ask = (page, tokens = TOKENS) => page.evaluate((count) => window.share.ask(count), tokens);

  it(
    'share: the tab that hosts is closed in the middle of an answer, and another hosts, answers and goes on with it',
    { timeout: 240_000 },
    async () => {
      const options = { engine: 'onnx-wasm', share: { place: 'tab' } };
      const first = await openTab(options);
      const second = await openTab(options);
      const third = await openTab(options);
      assert.equal(first.info.shared, 'this-tab');
      assert.equal(second.info.shared, 'another-tab');
      const together = await Promise.all([first, second, third].map(({ page }) => ask(page)));
      const { text } = together[0];
      assert.ok(text.length > 20);
      for (const answer of together) assert.equal(answer.text, text);

      const cut = ask(second.page, 400);
      await second.page.waitForFunction(() => window.share.received > 20);
      await first.page.close();
      assert.equal((await cut).code, 'worker-dead');
      const next = await ask(third.page);
      assert.equal(next.text, text);
      const hosts = [next.info.shared, (await ask(second.page)).info.shared].sort();
      assert.deepEqual(hosts, ['another-tab', 'this-tab']);
      const resumed = await third.page.evaluate(() => window.share.resume());
      assert.ok(resumed?.startsWith(text), `goes on with: ${resumed}`);
      assert.ok(resumed.length > 2 * text.length);
      for (const { page } of [second, third]) await page.close();
    },
  );

  it('share: in a SharedWorker, an engine outlives the tab that has made it', { timeout: 240_000 }, async () => {
    const options = { engine: 'onnx-wasm', share: { place: 'shared-worker' } };
    const first = await openTab(options);
    const second = await openTab(options);
    assert.equal(second.info.shared, 'shared-worker');
    const { text } = await ask(first.page);
    await first.page.close();
    assert.equal((await ask(second.page)).text, text);
    await second.page.evaluate(() => window.share.dispose());
    const { info } = await openTab({ engine: 'onnx-wasm', share: true });
    assert.ok(['this-tab', 'shared-worker'].includes(info.shared));
  });
});
