// `tokenglass/react` in React 18 and 19: rendered on a server, taken over in Chromium under StrictMode.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { build } from 'vite';
import { launchBrowser, openPage } from '../browser.mjs';
import { serveFolder } from '../server.mjs';

const PAGE = resolve(import.meta.dirname, 'page.tsx');
const REACTS = { 18: ['react18', 'react-dom18'], 19: ['react', 'react-dom'] };

/** Bundles the page for one version of React; `ssr` for a server, whose modules Node runs. */
async function bundle(entry, outDir, [react, reactDom], ssr) {
  await build({
    root: resolve('.'),
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    mode: 'production',
    define: { 'process.env.NODE_ENV': '"development"' }, // React's warnings are what is looked for
    esbuild: { jsx: 'automatic' },
    resolve: {
      alias: [
        { find: /^react(\/.*)?$/, replacement: `${resolve('node_modules', react)}$1` },
        { find: /^react-dom(\/.*)?$/, replacement: `${resolve('node_modules', reactDom)}$1` },
      ],
    },
    ...(ssr && { ssr: { noExternal: true } }),
    build: {
      outDir,
      emptyOutDir: false,
      minify: false,
      target: 'es2022',
      ...(ssr ? { ssr: entry } : { lib: { entry, formats: ['es'], fileName: 'page' } }),
      rolldownOptions: { external: [/create-engine/] },
    },
  });
}

describe('tokenglass/react', () => {
  let browser;
  before(async () => (browser = await launchBrowser()));
  after(() => browser.close());

  for (const [version, packages] of Object.entries(REACTS))
    it(`tokenglass/react: React ${version} takes over what a server rendered, loads once under StrictMode, answers, and leaves nothing behind`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tokenglass-react-'));
      const server = await serveFolder(folder);
      try {
        const serverEntry = resolve(import.meta.dirname, 'server.tsx');
        await bundle(serverEntry, join(folder, 'server'), packages, true);
        const { html } = await import(pathToFileURL(join(folder, 'server/server.js')).href);
        assert.match(html, /<tg-overlay><\/tg-overlay><tg-chat[^>]*><\/tg-chat>/);
        await bundle(PAGE, folder, packages, false);
        writeFileSync(
          join(folder, 'index.html'),
          `<!doctype html><link rel="icon" href="data:," /><div id="root">${html}</div>`,
        );
        assert.ok(readFileSync(join(folder, 'page.js'), 'utf8').includes(`"${version}.`), 'another React was bundled');
        const { page } = await openPage(browser, server.url);
        const said = [];
        page.on('console', (message) => said.push(message.text()));
        page.on('pageerror', (error) => said.push(error.message));
        await page.goto(server.url);
        await page.evaluate(async (path) => {
          const module = await import(path);
          window.log = module.log;
          window.leave = module.start(document.querySelector('#root'));
        }, '/page.js');
        await page.click('#ask:enabled');
        await page.waitForFunction(() => document.querySelector('output').textContent === 'done: Time to first token');
        assert.deepEqual(await page.evaluate(() => window.log), ['create tutor']);
        assert.deepEqual(
          await page.evaluate(async () => {
            await document.querySelector('tg-chat').ask('What is TTFT?');
            const chat = document.querySelector('tg-chat');
            return [chat.engine !== undefined, chat.systemPrompt, window.log.at(-1)];
          }),
          [true, 'Be brief.', 'answer Time to first token'],
        );
        await page.click('#other');
        await page.click('#ask:enabled');
        await page.waitForFunction(() => window.log.at(-1) === 'create another');
        await page.evaluate(() => window.leave());
        await page.waitForFunction(() => window.log.at(-1) === 'dispose another');
        assert.deepEqual(
          (await page.evaluate(() => window.log)).filter((line) => !line.startsWith('answer')),
          ['create tutor', 'dispose tutor', 'create another', 'dispose another'],
        );
        assert.deepEqual(
          said.filter((line) => !line.includes('React DevTools') && !line.startsWith('Lit is in dev mode')),
          [],
        );
      } finally {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
