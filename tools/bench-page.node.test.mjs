// The benchmark page does what a person does with it, with the built-in model, in a real browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { assertAccessible } from './accessible.mjs';
import { openDemo } from './demo-page.mjs';

const SETUP = '?engine=onnx-wasm&prompt-tokens=uniform:24-40&output-tokens=4&arrivals=poisson&rate=4&requests=6&seed=';

describe('the benchmark page', () => {
  let demo;
  let page;
  let outside;

  before(async () => {
    demo = await openDemo({ acceptDownloads: true });
    ({ page, outside } = demo);
  });
  after(async () => {
    await demo?.close();
  });

  const open = (setup) => page.goto(`${demo.url}bench/index.html${setup}`);
  const waitForStatus = (text) =>
    page.waitForFunction((wanted) => document.querySelector('#status').textContent.startsWith(wanted), text, {
      timeout: 120_000,
    });

  /** A worker that was told to end takes a moment; one that was forgotten never ends, and the test with it. */
  const workersEnd = () => Promise.all(page.workers().map((worker) => new Promise((end) => worker.once('close', end))));

  it(
    'bench page: its address sets it up, a run gives a valid report, saved and kept',
    { timeout: 240_000 },
    async () => {
      await open(`${SETUP}1`);
      assert.equal(await page.inputValue('[name=rate]'), '4');
      await page.click('button[type=submit]');
      await waitForStatus('Done');
      assert.equal(await page.locator('.cards strong').count(), 4);
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=JSON >> visible=true')]);
      const report = JSON.parse(readFileSync(await download.path(), 'utf8'));
      assert.equal(report.format, 'tokenglass.report/1');
      assert.deepEqual(report.runs[0].requests, { completed: 6, failed: 0 });
      assert.deepEqual(report.runs[0].conditions.arrivals, { process: 'poisson', ratePerSecond: 4 });
      assert.match(report.command, /seed=1/);
      await workersEnd();
    },
  );

  it('bench page: the charts are a picture', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=PNG')]);
    const bytes = readFileSync(await download.path());
    assert.deepEqual([...bytes.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
    assert.ok(bytes.length > 10_000);
  });

  it('bench page: two runs are compared, after a reload as well', async () => {
    await open(`${SETUP}2`);
    await page.click('button[type=submit]');
    await waitForStatus('Done');
    await open(`${SETUP}2`);
    await page.waitForSelector('.kept li:nth-child(2)');
    for (const box of await page.$$('.kept input')) await box.check();
    await page.waitForSelector('#comparison table');
    assert.match(await page.textContent('#comparison'), /TTFT ms.*n=6.*(beyond noise)/s);
  });

  it('bench page: a foreign file says what is wrong with it', async () => {
    await page.setInputFiles('.file input', {
      name: 'x.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{"format": "lighthouse"}'),
    });
    await waitForStatus('Cannot load the report: the file is of the format lighthouse');
  });

  it('bench page: pauses, goes on, and is cancelled with nothing left running', { timeout: 240_000 }, async () => {
    await open('?engine=onnx-wasm&prompt-tokens=24&output-tokens=4&users=2&duration=600');
    await page.click('button[type=submit]');
    await page.waitForFunction(() => /measuring/.test(document.querySelector('#status').textContent), undefined, {
      timeout: 120_000,
    });
    await page.click('text=Pause');
    await waitForStatus('onnx-wasm · paused');
    await page.click('text=Go on');
    await page.click('text=Cancel');
    await waitForStatus('Cancelled');
    await workersEnd();
  });

  it('bench page: nothing serious by axe, light and dark, and no sideways scrolling on a phone', async () => {
    await assertAccessible(page, { show: () => page.click('.kept li:first-child button >> nth=0') });
  });

  it('bench page: run after run leaves no worker, listener or heap behind', { timeout: 300_000 }, async () => {
    await open('');
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    const measure = async () => {
      await workersEnd();
      await devtools.send('HeapProfiler.collectGarbage');
      const { metrics } = await devtools.send('Performance.getMetrics');
      return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
    };
    const workload = {
      promptLength: { kind: 'fixed', tokens: 24 },
      outputLength: { kind: 'fixed', tokens: 2 },
      sharedPrefixShare: 0,
      turns: 1,
      arrivals: { process: 'closed-loop', users: 2, thinkTimeMs: 0 },
      stop: { requests: 2 },
      warmUpRequests: 0,
      coolDownMs: 0,
      keepCache: false,
      temperature: 0,
      seed: 1,
      raw: false,
      slo: { name: 'x', ttftMs: 1e6 },
    };
    const runOnce = async () => {
      const { missed } = await page.evaluate(
        (options) => window.tokenglassBench(options).then(({ missed: sentences }) => ({ missed: sentences })),
        { engines: ['onnx-wasm'], model: 'tutor', workload },
      );
      assert.deepEqual(missed, []);
    };
    for (let run = 0; run < 3; run++) await runOnce();
    const early = await measure();
    for (let run = 0; run < 5; run++) await runOnce();
    const late = await measure();
    // What a run forgets is there five times; one more or less is the browser's own.
    assert.ok(
      late.JSEventListeners < early.JSEventListeners + 5,
      `${early.JSEventListeners} to ${late.JSEventListeners}`,
    );
    assert.ok(
      late.JSHeapUsedSize - early.JSHeapUsedSize < 300_000,
      `${early.JSHeapUsedSize} to ${late.JSHeapUsedSize}`,
    );
    assert.deepEqual(outside, [], 'nothing beyond the page is asked for');
  });
});
