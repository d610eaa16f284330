// Weights and KV survive real tabs that are really killed: pages of Chromium with a profile on disk, closed or crashed in the middle of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { build } from 'vite';
import { launchProfile } from '../browser.mjs';
import { Host, weightsLike } from './host.mjs';

const CHUNK_BYTES = 2 ** 18;
const KILLS = 20;

describe('real tabs', () => {
  let host;
  let url;
  let profile;

  before(async () => {
    const { output } = await build({
      configFile: false,
      logLevel: 'silent',
      build: { write: false, target: 'es2022', modulePreload: false, rolldownOptions: { input: 'tools/tabs/page.ts' } },
    });
    assert.equal(output.length, 1, 'one script');
    host = new Host(output[0].code);
    url = await host.listen();
    profile = await launchProfile();
  });
  after(async () => {
    await profile?.close();
    await host?.close();
  });

  async function openTab() {
    const page = await profile.context.newPage();
    await page.goto(url);
    await page.waitForFunction(() => window.tab !== undefined);
    return page;
  }

  const load = (page, folder) => page.evaluate((at) => window.tab.load(at, 'model.gguf'), folder);
  const stored = (page, folder) => page.evaluate((at) => window.tab.stored(at), folder);
  /** Until the store holds that much of a model, as another tab sees it. */
  async function untilStored(page, folder, bytes) {
    while ((await stored(page, folder)).bytes < bytes);
  }

  function serve(name, size, seed) {
    const file = weightsLike(size, seed);
    host.files.set(`/${name}/model.gguf`, file);
    host.requests = [];
    host.servedBytes = 0;
    return { folder: `${url}${name}/`, ...file };
  }

  it('storedSource: of 20 tabs killed at 40 % of a download, each later load works, with at most one chunk fetched twice', async () => {
    const watcher = await openTab();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const size = 10 * CHUNK_BYTES + kill * 37;
      const { folder, sha256 } = serve(`kill-${kill}`, size, kill);
      // Around 40 %: on a border of chunks, just before and after one, and between.
      host.holdAt = 4 * CHUNK_BYTES + [0, 1, -1, 700, 1400, CHUNK_BYTES / 2][kill % 6];
      const tab = await openTab();
      const loading = load(tab, folder).catch(() => undefined);
      const whole = Math.floor(host.holdAt / CHUNK_BYTES) * CHUNK_BYTES;
      await untilStored(watcher, folder, whole);
      await killTab(tab, kill);
      await loading;
      await host.whenGone();
      host.release();
      assert.deepEqual(
        await stored(watcher, folder),
        { bytes: whole, isComplete: false, strayChunks: 0 },
        `kill ${kill}`,
      );

      const next = await openTab();
      assert.deepEqual(await load(next, folder), { sha256, bytes: size }, `kill ${kill}`);
      assert.ok(host.servedBytes >= size && host.servedBytes < size + CHUNK_BYTES, `${host.servedBytes} of ${size}`);
      assert.equal(host.requests.length, 2);
      assert.deepEqual(await load(next, folder), { sha256, bytes: size }, 'from the store');
      assert.equal(host.requests.length, 2);
      assert.deepEqual(await stored(next, folder), { bytes: size, isComplete: true, strayChunks: 0 });
      await next.close();
    }
    await watcher.close();
  });

  it('StoredTier: of 20 tabs killed in the middle of writing KV, each later one finds whole blocks, and they get done', async () => {
    const database = 'killed-blocks';
    let blocks = 0;
    for (let kill = 0; kill <= KILLS; kill += 1) {
      const tab = await openTab();
      const found = await tab.evaluate(([name, from]) => window.tab.readBlocks(name, from), [database, blocks]);
      assert.ok(found.blocks >= blocks, `kill ${kill}: nothing that was stored is lost`);
      assert.equal(found.blocks % 2, 0, 'both blocks of a write, or none');
      assert.deepEqual([found.wrong, found.rejected], [0, 0], `kill ${kill}`);
      blocks = found.blocks;
      let writes = 0;
      await new Promise((resolve) => {
        void tab
          .exposeFunction('onWrite', (from) => {
            writes += 1;
            // The last tab goes on to the end.
            if (from === found.of || (kill < KILLS && writes > 1 + (kill % 2))) resolve();
          })
          .then(() => tab.evaluate((name) => window.tab.writeBlocks(name, window.onWrite), database))
          .catch(() => undefined); // it is killed
      });
      await killTab(tab, kill);
    }
    const tab = await openTab();
    const { blocks: all, of, wrong } = await tab.evaluate((name) => window.tab.readBlocks(name), database);
    assert.deepEqual([all, wrong], [of, 0]);
    await tab.close();
  });

  it('storedSource: of two tabs that load the same model one downloads, and the other waits and says so', async () => {
    const { folder, sha256, bytes } = serve('two-tabs', 10 * CHUNK_BYTES + 5, 1);
    host.holdAt = 3 * CHUNK_BYTES;
    const [one, two] = [await openTab(), await openTab()];
    const first = load(one, folder);
    await untilStored(one, folder, host.holdAt);
    const second = load(two, folder);
    await two.waitForFunction(() => window.tab.labels().some((label) => label.startsWith('Waiting for another tab')));
    host.release();
    for (const loaded of [await first, await second]) assert.deepEqual(loaded, { sha256, bytes: bytes.length });
    assert.deepEqual(host.requests, ['/two-tabs/model.gguf']);
    assert.equal(host.servedBytes, bytes.length);
    await one.close();
    await two.close();
  });

  it('storedSource: a tab that waits takes over from one that is killed, where that one was', async () => {
    const { folder, sha256, bytes } = serve('takes-over', 10 * CHUNK_BYTES + 5, 2);
    host.holdAt = 3 * CHUNK_BYTES;
    const [one, two] = [await openTab(), await openTab()];
    const first = load(one, folder).catch(() => undefined);
    await untilStored(two, folder, host.holdAt);
    const second = load(two, folder);
    await two.waitForFunction(() => window.tab.labels().some((label) => label.startsWith('Waiting for another tab')));
    host.holdAt = Infinity;
    await killTab(one, 0);
    await first;
    assert.deepEqual(await second, { sha256, bytes: bytes.length });
    assert.equal(host.servedBytes, bytes.length, 'no byte twice');
    await two.close();
  });
});

/** By turns: closed from outside, or its process crashed. */
async function killTab(page, turn) {
  if (turn % 2 === 0) {
    const devtools = await page.context().newCDPSession(page);
    const crashed = new Promise((resolve) => page.once('crash', resolve));
    void devtools.send('Page.crash').catch(() => undefined); // it has nobody to answer
    await crashed;
  }
  await page.close({ runBeforeUnload: false });
}
