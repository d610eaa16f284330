// The chat page in a real browser that is reloaded and killed: what was cut short goes on, and what was too much is told.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { launchProfile, openPageIn } from '../browser.mjs';
import { buildDemo } from '../demo-build.mjs';
import { serveFolder } from '../server.mjs';
import { Host } from './host.mjs';

describe('the chat page, reloaded and killed', () => {
  let server;
  let profile;
  let host;

  before(async () => {
    server = await serveFolder(await buildDemo());
    profile = await launchProfile();
  });
  after(async () => {
    await profile?.close();
    await host?.close();
    await server?.close();
  });

  const open = async (query) => {
    const { page } = await openPageIn(profile.context, 'http://127.0.0.1');
    await page.goto(`${server.url}index.html?${new URLSearchParams(query)}`);
    return page;
  };
  const answered = (page) =>
    page.waitForFunction(() => window.tokenglass?.engine && document.querySelector('tg-chat')?.busy === false, null, {
      timeout: 120_000,
    });
  const answer = (page) =>
    page
      .locator('tg-markdown')
      .last()
      .evaluate((shown) => shown.plainText.trim());

  it(
    'tg-chat: an answer cut short by a reload is shown with its question, and goes on to the same text',
    { timeout: 240_000 },
    async () => {
      const query = { engine: 'onnx-wasm', q: 'What is TTFT?' };
      const whole = await open(query);
      await answered(whole);
      const expected = await answer(whole);
      assert.ok(expected.length > 100);
      await whole.close();

      const page = await open({ engine: 'onnx-wasm' });
      await page.waitForFunction(() => window.tokenglass?.engine);
      // The page reloads itself in the middle of the answer, once some of it has been written down.
      const reloaded = page.waitForEvent('domcontentloaded');
      await page.evaluate(() => {
        const chat = document.querySelector('tg-chat');
        let tokens = 0;
        chat.addEventListener('tg-tokens', (event) => {
          tokens += event.tokens.length;
          if (tokens > 20) location.reload();
        });
        void chat.ask('What is TTFT?');
      });
      await reloaded;
      const offer = page.locator('.cut');
      await offer.waitFor({ timeout: 120_000 });
      assert.match(await offer.innerText(), /cut short/);
      assert.match(await page.locator('.question').innerText(), /What is TTFT\?/);
      const before = await answer(page);
      assert.ok(before.length < expected.length, before);
      // By the keyboard, as a screen reader does too.
      await page.getByRole('button', { name: 'Go on with it' }).focus();
      await page.keyboard.press('Enter');
      await answered(page);
      assert.equal(await answer(page), expected);
      await page.reload();
      await answered(page);
      assert.equal(await page.locator('.question').count(), 0, 'an answer that has ended is not offered again');
      await page.close();
    },
  );

  it(
    'tg-load: a tab killed while it loads leads to the offer of a smaller model at the next start',
    { timeout: 240_000 },
    async () => {
      host = new Host('');
      const url = await host.listen();
      // A model with a header that is right, and so large that the built-in one is smaller.
      const bytes = Buffer.concat([readFileSync('models/tutor/tutor.q4_0.gguf'), Buffer.alloc(1e8)]);
      host.files.set('/big.gguf', { bytes, sha256: 'x'.repeat(64) });
      host.holdAt = 2 ** 20;
      const query = { engine: 'webgpu', model: `${url}big.gguf` };
      const killed = await open(query);
      await killed.waitForFunction(() => document.querySelector('tg-load')?.progress?.loadedBytes > 0, null, {
        timeout: 120_000,
      });
      const devtools = await killed.context().newCDPSession(killed);
      const crashed = new Promise((resolve) => killed.once('crash', resolve));
      void devtools.send('Page.crash').catch(() => undefined); // it has nobody to answer
      await crashed;
      await killed.close();
      await host.whenGone();

      const page = await open(query);
      const warning = page.locator('tg-load .warning');
      await warning.waitFor({ timeout: 120_000 });
      assert.match(await warning.innerText(), /never ended/);
      await page.locator('tg-load .smaller').click();
      await page.waitForFunction(() => window.tokenglass?.engine?.info.model.id === 'tutor', null, {
        timeout: 120_000,
      });
      assert.match(page.url(), /model=tutor/);
      await page.close();
    },
  );
});
