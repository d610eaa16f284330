// `npm run screenshots`: the demo pages at three widths and in both themes, into docs/screenshots/.
//   --only NAME   one page: demo, dashboard, present, models, bench or race
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launchBrowser, openPage } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { serveFolder } from './server.mjs';

const FOLDER = 'docs/screenshots';
/** Above this a clone is slowed down by its pictures. */
const MOST_BYTES = 5_000_000;
const WIDTHS = [360, 768, 1440];
const THEMES = ['light', 'dark'];
const QUESTION = 'What is TTFT?';

/** Heights show the whole of what matters; `settle` waits until the page shows its figures. */
const PAGES = [
  {
    name: 'demo',
    path: 'index.html',
    query: { q: QUESTION },
    heights: { 360: 780, 768: 1024, 1440: 900 },
    settle: answered,
  },
  {
    name: 'dashboard',
    path: 'dashboard/index.html',
    query: { q: QUESTION },
    heights: { 360: 2000, 768: 2000, 1440: 2450 },
    settle: async (page) => {
      await answered(page);
      await page.evaluate(async () => {
        document.querySelector('tg-chat').showTokens = true;
        const dashboard = document.querySelector('tg-dashboard');
        dashboard.probe = await dashboard.measure(dashboard.engine);
      });
    },
  },
  {
    name: 'present',
    path: 'present/index.html',
    query: { a: 'webgpu', b: 'onnx-wasm' },
    heights: { 360: 1100, 768: 1024, 1440: 900 },
    settle: async (page) => {
      await page.waitForFunction(() => !document.querySelector('#start').disabled, null, { timeout: 240_000 });
      await page.keyboard.press('Space');
      await page.waitForFunction(() => document.querySelectorAll('#outcome p').length > 1, null, { timeout: 240_000 });
    },
  },
  {
    name: 'models',
    path: 'index.html',
    query: {},
    heights: { 360: 780, 768: 1024, 1440: 900 },
    settle: async (page) => {
      await page.waitForFunction(() => window.tokenglass?.engine !== undefined, null, { timeout: 240_000 });
      await page.click('#open-models');
    },
  },
  {
    name: 'bench',
    path: 'bench/index.html',
    query: {
      engine: 'webgpu,onnx-wasm',
      'prompt-tokens': 'uniform:24-40',
      'output-tokens': '16',
      arrivals: 'poisson',
      rate: '2',
      requests: '40',
      seed: '1',
    },
    heights: { 360: 1500, 768: 1300, 1440: 1300 },
    settle: async (page) => {
      await page.click('button[type=submit]');
      await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Done'), null, {
        timeout: 240_000,
      });
    },
  },
  {
    name: 'race',
    path: 'race/index.html',
    query: [
      ['c', 'onnx-wasm'],
      ['c', 'wllama-cpu'],
      ['c', 'transformers-cpu'],
      ['tokens', '32'],
    ],
    heights: { 360: 1500, 768: 1500, 1440: 1500 },
    settle: async (page) => {
      await page.click('#start');
      await page.waitForSelector('#results table', { timeout: 240_000 });
    },
  },
];

async function answered(page) {
  await page.waitForFunction(() => window.tokenglass?.engine !== undefined, null, { timeout: 240_000 });
  await page.waitForFunction(() => document.querySelector('tg-chat')?.busy === false, null, { timeout: 240_000 });
}

const { values: options } = parseArgs({ options: { only: { type: 'string' } } });
const pages = PAGES.filter(({ name }) => options.only === undefined || name === options.only);
if (pages.length === 0)
  throw new Error(`Cannot take pictures of "${options.only}": give one of ${PAGES.map(({ name }) => name).join(', ')}`);

mkdirSync(FOLDER, { recursive: true });
const server = await serveFolder(await buildDemo());
const browser = await launchBrowser();
try {
  for (const page of pages) for (const width of WIDTHS) await takeBoth(page, width);
} finally {
  await browser.close();
  await server.close();
}
const total = readdirSync(FOLDER).reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0);
console.log(`${FOLDER}: ${(total / 1e6).toFixed(2)} MB of at most ${MOST_BYTES / 1e6} MB`);
if (total > MOST_BYTES) process.exitCode = 1;

/** One answer, pictured in both themes: so they differ in nothing else. */
async function takeBoth({ name, path, query, heights, settle }, width) {
  const { page, context } = await openPage(browser, server.url, {
    viewport: { width, height: heights[width] },
    reducedMotion: 'reduce',
  });
  await page.goto(`${server.url}${path}?${new URLSearchParams(query)}`);
  await settle(page);
  await page.mouse.move(0, 0);
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    await drawn(page);
    const file = join(FOLDER, `${name}-${width}-${theme}.png`);
    rmSync(file, { force: true });
    await page.screenshot({ path: file });
    console.log(`${file}  ${(statSync(file).size / 1000).toFixed(0)} kB`);
  }
  await context.close();
}

/** Until nothing has been drawn for some frames. */
async function drawn(page) {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 60; frame += 1) await new Promise(requestAnimationFrame);
  });
}
