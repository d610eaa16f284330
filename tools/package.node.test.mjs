// What `npm pack` ships is what a user needs, and every entry point imports in Node (a server-rendered page does that).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { build } from 'vite';
import { launchBrowser, openPage } from './browser.mjs';
import { serveFolder } from './server.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
let folder;
let files;

/** `node_modules` with the unpacked package as itself, and its dependencies as links to ours. */
function installLikeAUser() {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  renameSync(join(folder, 'package'), join(modules, 'tokenglass'));
  for (const name of readdirSync('node_modules'))
    if (name !== 'tokenglass' && !name.startsWith('.'))
      symlinkSync(resolve('node_modules', name), join(modules, name), 'junction');
}

/** A user's page, in a user's words: the README's embed. */
const PAGE = `<!doctype html><title>A page</title>
<tg-chat></tg-chat>
<script type="module">
  import { createEngine } from 'tokenglass';
  import 'tokenglass/ui';
  const engine = await createEngine({ model: 'tutor' });
  document.querySelector('tg-chat').engine = engine;
  let text = '';
  for await (const event of engine.generate({ messages: [{ role: 'user', content: 'What is TTFT?' }], maxTokens: 12 }))
    if (event.type === 'delta') text += event.text;
  window.answer = { text, worker: engine.info.worker };
</script>`;

/**
 * Runs in the page of an example until it gives an answer: a chat is asked as a visitor would, and so is a page with a button.
 * The button is pressed again as long as its page is still loading the model.
 */
function askThePage() {
  const assistant = document.querySelector('tg-assistant');
  assistant?.load?.();
  const chat = assistant?.chat ?? document.querySelector('tg-chat');
  if (chat) {
    if (!chat.ask) return undefined;
    if (!window.asked) {
      window.asked = true;
      chat.addEventListener('tg-request-end', ({ text }) => (window.answerText = text));
      void chat.ask('What is TTFT?');
    }
    return window.answerText;
  }
  const output = document.querySelector('output');
  if (output?.textContent === '') document.querySelector('#ask')?.click();
  return output && output.textContent.length > 10 ? output.textContent : undefined;
}

describe('npm pack', () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokenglass-pack-'));
    const packed = execFileSync(npm, ['pack', '--json', '--pack-destination', folder], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const json = JSON.parse(packed.slice(packed.search(/^[[{]/m)));
    const [entry] = Array.isArray(json) ? json : Object.values(json);
    files = entry.files.map(({ path }) => path);
    execFileSync('tar', ['-xzf', join(folder, entry.filename.split('/').at(-1)), '-C', folder]);
    installLikeAUser();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('package: holds the library, its types, the model and the licence, and nothing else', () => {
    for (const needed of [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/custom-elements.json',
      'docs/frameworks.md',
      'models/tutor/README.md',
    ])
      assert.ok(files.includes(needed), `${needed} is missing`);
    const strays = files.filter(
      (path) =>
        !/^(dist|models\/tutor)\//.test(path) &&
        !/^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/[\w-]+\.md)$/.test(path),
    );
    assert.deepEqual(strays, []);
    assert.deepEqual(
      files.filter((path) => /\.test\.|\/testing\//.test(path)),
      [],
      'tests are shipped',
    );
  });

  it('package: every export resolves to a shipped file, with types', () => {
    const { exports } = JSON.parse(readFileSync(join(folder, 'node_modules/tokenglass/package.json'), 'utf8'));
    for (const [name, target] of Object.entries(exports)) {
      if (name.includes('*')) continue;
      for (const path of typeof target === 'string' ? [target] : Object.values(target))
        assert.ok(existsSync(join(folder, 'node_modules/tokenglass', path)), `${name} -> ${path}`);
    }
  });

  it('package: every entry point imports in Node without throwing', () => {
    for (const entry of ['index.js', 'ui.js', 'dashboard.js', 'react.js', 'metrics.js', 'bench.js', 'onnx.js']) {
      const url = new URL(`file://${join(folder, 'node_modules/tokenglass/dist', entry)}`).href;
      execFileSync(process.execPath, ['--input-type=module', '-e', `await import(${JSON.stringify(url)})`], {
        cwd: folder,
        stdio: 'pipe',
      });
    }
  });

  it('package: what a bundler copies is no larger than hosts of pages take', () => {
    for (const path of files)
      assert.ok(statSync(join(folder, 'node_modules/tokenglass', path)).size < 20 * 2 ** 20, `${path} is above 20 MiB`);
  });

  it('package: the worker and the parts that it fetches import nothing', () => {
    for (const name of ['engine.worker.js', 'grammar.js', 'onnx-part.js']) {
      const code = readFileSync(join(folder, 'node_modules/tokenglass/dist', name), 'utf8');
      assert.doesNotMatch(code, /(?:^|[;}\n])\s*import\s*(?:["'{*]|[\w$]+\s+from)/, name);
      assert.doesNotMatch(code, /\bimport\(["']/, name);
    }
  });

  it('package: no file fetches from another host by itself', () => {
    for (const path of files.filter((name) => /^dist\/.*\.js$/.test(name)))
      assert.doesNotMatch(
        readFileSync(join(folder, 'node_modules/tokenglass', path), 'utf8'),
        /https?:\/\/[\w.]*(?:jsdelivr|unpkg|esm\.sh|cdnjs|skypack)/,
        path,
      );
  });

  it('package: no file names a path or host of the machine it was made on', () => {
    const home = resolve('.');
    for (const path of files.filter((name) => /\.(js|ts|json|md|map)$/.test(name)))
      assert.ok(!readFileSync(join(folder, 'node_modules/tokenglass', path), 'utf8').includes(home), path);
  });

  it('package: a page of a user, bundled by Vite, answers from a worker', async () => {
    writeFileSync(join(folder, 'index.html'), PAGE);
    await build({
      root: folder,
      configFile: false,
      base: './',
      logLevel: 'error',
    });
    const server = await serveFolder(join(folder, 'dist'));
    const browser = await launchBrowser();
    try {
      const { page, outside } = await openPage(browser, server.url);
      await page.goto(server.url);
      const answer = await (
        await page.waitForFunction(() => window.answer, undefined, { timeout: 120_000 })
      ).jsonValue();
      assert.equal(answer.worker, true);
      assert.ok(answer.text.length > 10, answer.text);
      assert.deepEqual(outside, []);
    } finally {
      await browser.close();
      await server.close();
    }
  });

  for (const example of readdirSync('examples', { withFileTypes: true }).filter((entry) => entry.isDirectory()))
    it(`examples/${example.name}: is built by Vite from the package, and answers`, async () => {
      const root = join(folder, 'examples', example.name);
      cpSync(join('examples', example.name), root, { recursive: true });
      await build({ root, configFile: false, base: './', logLevel: 'error', worker: { format: 'es' } });
      const server = await serveFolder(join(root, 'dist'));
      const browser = await launchBrowser();
      try {
        const { page, outside } = await openPage(browser, server.url);
        const faults = [];
        page.on('pageerror', (error) => faults.push(error.message));
        page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
        await page.goto(server.url);
        const answer = await page.waitForFunction(askThePage, undefined, { timeout: 120_000, polling: 200 });
        assert.ok((await answer.jsonValue()).length > 10);
        assert.deepEqual(outside, []);
        assert.deepEqual(faults, []);
      } finally {
        await browser.close();
        await server.close();
      }
    });
});
