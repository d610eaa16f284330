// `npm run soak -- --runs 200 --seconds 5`: benchmark runs one after another in one page, and what each tenth leaves behind: JS heap, listeners,
// workers, memory of the page's and of the GPU's process. Exit code 1 if any of them grew.
//   --engine A,B     (default webgpu,onnx-wasm)
// `npm run soak -- --minutes 60`: answers streamed into the chat of the dashboard page instead, one after another.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { tsImport } from 'tsx/esm/api';
import { launchBrowser, openPage } from './browser.mjs';
import { buildDemo } from './demo-build.mjs';
import { serveFolder } from './server.mjs';

const { percentile } = await tsImport('../src/runtime/metrics/percentile.ts', import.meta.url);

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '5' },
    minutes: { type: 'string' },
    engine: { type: 'string', default: 'webgpu,onnx-wasm' },
  },
});
const runs = Number(options.runs);
const LOOKS = 20;
/** Answers before the chat is cleared. */
const TURNS = 4;
/** The first looks are left out: caches of the browser fill once. */
const SETTLED = 4;
/** A leak grows with every run; what garbage collectors and allocators keep does not. */
const LIMITS = {
  'JS heap MB': 1,
  listeners: 0,
  workers: 0,
  nodes: 50,
  'page process MB': 60,
  'GPU process MB': 60,
};

const server = await serveFolder(await buildDemo());
const browser = await launchBrowser();
try {
  const { page } = await openPage(browser, server.url);
  const look = await looker(page);
  report(await (options.minutes ? stream(page, look) : bench(page, look)));
} finally {
  await browser.close();
  await server.close();
}

/** Benchmark runs; a look after each twentieth of them. */
async function bench(page, look) {
  const { readSetup } = await tsImport('../src/runtime/bench/setup/read-setup.ts', import.meta.url);
  const asked = readSetup({
    engine: options.engine,
    duration: options.seconds,
    'prompt-tokens': '48',
    'output-tokens': '8',
  });
  await page.goto(`${server.url}bench/index.html`);
  const looks = [];
  for (let run = 1; run <= runs; run++) {
    const { completed, failed } = await page.evaluate(benchOnce, asked);
    if (failed > 0 || completed === 0) throw new Error(`Run ${run}: ${completed} requests completed, ${failed} failed`);
    if (run % Math.max(1, Math.floor(runs / LOOKS)) !== 0) continue;
    looks.push(await look());
    console.log(`after ${run} runs: ${describe(looks.at(-1))}`);
  }
  return looks;
}

/** Answers in the chat, its dashboard open; a look every twentieth of the time. The chat is cleared now and then, as its text is no leak. */
async function stream(page, look) {
  const engine = options.engine.split(',')[0];
  const totalMs = Number(options.minutes) * 60_000;
  await page.goto(`${server.url}dashboard/index.html?engine=${engine}`);
  await page.waitForFunction(() => window.tokenglass?.engine !== undefined, null, { timeout: 240_000 });
  const looks = [];
  let tokens = 0;
  const fromMs = Date.now();
  for (let answers = 1; Date.now() - fromMs < totalMs; answers++) {
    tokens += await page.evaluate(askOnce, answers % TURNS === 0);
    // Always with as many turns in the chat, as these have nodes and listeners of their own.
    if (answers % TURNS !== 0 || Date.now() - fromMs < ((looks.length + 1) * totalMs) / LOOKS) continue;
    looks.push(await look(1));
    const minutes = ((Date.now() - fromMs) / 60_000).toFixed(1);
    console.log(`after ${minutes} min, ${answers} answers, ${tokens} tokens: ${describe(looks.at(-1))}`);
  }
  return looks;
}

/** In the page: a question to the chat. @returns tokens of the answer */
async function askOnce(clear) {
  const chat = document.querySelector('tg-chat');
  if (clear) chat.clear();
  const result = await chat.ask('Why is decode memory-bound?');
  return result.usage.completionTokens;
}

/** In the page: one run of every engine, whose report is dropped. */
async function benchOnce(asked) {
  const { report } = await window.tokenglassBench(asked);
  return {
    completed: Math.min(...report.runs.map(({ requests }) => requests.completed)),
    failed: report.runs.reduce((sum, { requests }) => sum + requests.failed, 0),
  };
}

async function looker(page) {
  const client = await page.context().newCDPSession(page);
  const whole = await browser.newBrowserCDPSession();
  await client.send('Performance.enable');
  return async (workersInUse = 0) => {
    // A worker that was terminated takes a moment to go.
    for (let waits = 0; waits < 50 && page.workers().length > workersInUse; waits++) await page.waitForTimeout(100);
    for (let pass = 0; pass < 3; pass++) await client.send('HeapProfiler.collectGarbage');
    const { metrics } = await client.send('Performance.getMetrics');
    const metric = (name) => metrics.find((entry) => entry.name === name).value;
    const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
    const megabytes = (type) =>
      processInfo.filter((info) => info.type === type).reduce((sum, { id }) => sum + residentMegabytes(id), 0);
    return {
      'JS heap MB': metric('JSHeapUsedSize') / 1e6,
      listeners: metric('JSEventListeners'),
      workers: page.workers().length,
      nodes: metric('Nodes'),
      'page process MB': megabytes('renderer'),
      'GPU process MB': megabytes('GPU'),
    };
  };
}

/** 0 where there is no /proc to tell. */
function residentMegabytes(id) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))[1]) / 1e3;
  } catch {
    return 0;
  }
}

function describe(seen) {
  return Object.entries(seen)
    .map(([name, value]) => `${name} ${Number.isInteger(value) ? value : value.toFixed(1)}`)
    .join(', ');
}

/** Medians of the first and of the last third of the looks: one look says little of a process's memory. */
function report(looks) {
  const settled = looks.slice(Math.min(SETTLED, looks.length - 2));
  const third = Math.max(1, Math.floor(settled.length / 3));
  for (const [name, limit] of Object.entries(LIMITS)) {
    const figure = (seen) => seen[name];
    const median = (part) => percentile(part.map(figure), 50);
    const grown = median(settled.slice(-third)) - median(settled.slice(0, third));
    const leaks = grown > limit;
    console.log(`${name}: ${grown >= 0 ? '+' : ''}${grown.toFixed(1)} (at most ${limit})${leaks ? '  GREW' : ''}`);
    if (leaks) process.exitCode = 1;
  }
}
