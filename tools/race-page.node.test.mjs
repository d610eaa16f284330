// The race does what a person does with it, with the built-in model, in a real browser and with no connection to anywhere.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { assertAccessible } from './accessible.mjs';
import { openDemo } from './demo-page.mjs';

describe('the race page', () => {
  let demo;
  let page;
  let outside;
  let requested = [];

  before(async () => {
    demo = await openDemo({ acceptDownloads: true });
    ({ page, outside } = demo);
    page.on('request', (request) => requested.push(request.url()));
  });
  after(async () => {
    await demo?.close();
  });

  const open = async (setup) => {
    await page.goto(`${demo.url}race/index.html?${setup}`);
    await page.waitForSelector('#start');
  };
  const waitForStatus = (text) =>
    page.waitForFunction((wanted) => document.querySelector('#status').textContent.startsWith(wanted), text, {
      timeout: 180_000,
    });
  const race = async () => {
    await page.click('#start');
    await waitForStatus('The race is over');
    await page.waitForSelector('#start');
  };
  /** What stands in the columns, within the shadow of its element. */
  const answers = () =>
    page.$$eval('.column tg-markdown', (elements) => elements.map(({ shadowRoot }) => shadowRoot.textContent.trim()));
  const column = (place) => page.locator('.column').nth(place);
  const workersEnd = () => Promise.all(page.workers().map((worker) => new Promise((end) => worker.once('close', end))));

  it(
    'race page: webgpu against onnx-wasm ends with a table, its ratios, and what can be compared',
    { timeout: 240_000 },
    async () => {
      await open('c=webgpu&c=onnx-wasm&tokens=12&rounds=2');
      await race();
      const rows = await page.locator('#results tbody tr').allInnerTexts();
      assert.equal(rows.length, 2);
      for (const row of rows) assert.match(row, /p95 [\d.]+, n=2/);
      assert.match(rows[1], /× [\d.]+/);
      const said = await page.innerText('.comparable');
      assert.match(said, /onnx-wasm against webgpu, comparable: nothing as it stands\./);
      assert.match(said, /Not comparable: everything\. webgpu ran on .*\(software\)/);
      assert.match(said, /Both gave the very same tokens\./);
      for (const answer of await answers()) assert.match(answer, /TTFT/);
      assert.match(await column(0).innerText(), /Ran on\s+GPU: .*Precision\s+Q4_0/s);
      assert.match(await column(1).innerText(), /Ran on\s+CPU, \d threads?.*Precision\s+q4/s);
      await workersEnd();
      assert.deepEqual(
        requested.filter((url) => /wllama|transformers/i.test(url)),
        [],
        'libraries are fetched by those who race them',
      );
    },
  );

  it('race page: what it measured is a report', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save report')]);
    const report = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.equal(report.format, 'tokenglass.report/1');
    assert.deepEqual(
      report.runs.map(({ conditions, requests }) => [conditions.engine.name, requests.completed]),
      [
        ['webgpu', 2],
        ['onnx-wasm', 2],
      ],
    );
    assert.equal(report.ratios.find(({ figure }) => figure === 'tpotMs').n, 2);
    for (const { samples } of report.runs) assert.ok(samples.every(({ cachedTokens }) => cachedTokens === 0));
  });

  it(
    'race page: wllama and transformers.js run the built-in model offline, and say the same',
    { timeout: 300_000 },
    async () => {
      await open('c=onnx-wasm&c=wllama-cpu&c=transformers-cpu&tokens=12&rounds=1&order=apart');
      await race();
      assert.equal((await page.locator('#results tbody b').count()) > 10, true);
      const [first, ...others] = await answers();
      assert.match(first, /TTFT/);
      assert.deepEqual(others, [first, first]);
      const said = await page.innerText('.comparable');
      assert.match(said, /wllama-cpu tells no token ids/);
      assert.match(said, /Both gave the very same tokens/, 'transformers.js tells its ids');
      assert.match(said, /one after another, not in turns/);
      assert.match(await column(1).innerText(), /llama\.cpp b\d+/);
      assert.match(await column(2).innerText(), /onnxruntime-web 1\.31/);
      assert.deepEqual(outside, [], 'nothing beyond the page is asked for');
    },
  );

  it('race page: a contender that fails shows its code, and the race goes on', { timeout: 240_000 }, async () => {
    await open('c=webgpu;model=nowhere&c=onnx-wasm&c=onnx-wasm;cache=on&tokens=8&rounds=1');
    await race();
    assert.match(await column(0).locator('[role=alert]').innerText(), /model-not-found/);
    const rows = await page.locator('#results tbody tr').allInnerTexts();
    assert.match(rows[0], /out of the race: model-not-found/);
    assert.match(rows[2], /n=1/);
    assert.match(await page.innerText('.comparable'), /The prefix cache is what is compared|With care/);
  });

  it(
    'race page: nothing serious by axe, light and dark, and no sideways scrolling on a phone',
    { timeout: 240_000 },
    async () => {
      await assertAccessible(page, { widths: [360, 768, 1440] });
    },
  );

  it(
    'race page: Escape cancels at any time, keeps what was measured, and leaves nothing running',
    { timeout: 240_000 },
    async () => {
      await open('c=onnx-wasm&c=onnx-wasm;threads=1&tokens=16&rounds=500');
      await page.click('#start');
      await page.waitForFunction(
        () => / round [3-9]|\d\d of 500/.test(document.querySelector('#status').textContent),
        undefined,
        {
          timeout: 120_000,
        },
      );
      await page.keyboard.press('Escape');
      await waitForStatus('Cancelled; what was measured so far is below');
      assert.match(await page.innerText('#results caption'), /cut short/);
      await workersEnd();
      await open('c=onnx-wasm&c=onnx-wasm;threads=1');
      await page.click('#start');
      await page.click('#cancel');
      await waitForStatus('Cancelled; nothing was measured');
      await workersEnd();
    },
  );

  it('race page: form and address say the same', async () => {
    await open('c=webgpu&c=onnx-wasm;threads=1&rounds=7&order=at-once&prompt=Why%3F');
    assert.equal(await page.inputValue('[name=prompt]'), 'Why?');
    assert.equal(await page.inputValue('[name=order]'), 'at-once');
    await page.click('text=Add a contender');
    await column(2).locator('header select').selectOption('wllama-cpu');
    await column(1).locator('button[aria-label="Remove contender B"]').click();
    await page.fill('[name=prompt]', 'How?');
    await page.press('[name=prompt]', 'Tab');
    const query = new URL(page.url()).searchParams;
    assert.deepEqual(query.getAll('c'), ['webgpu', 'wllama-cpu']);
    assert.equal(query.get('prompt'), 'How?');
    assert.equal(query.get('rounds'), '7');
    await open('c=abacus');
    assert.match(await page.innerText('#status'), /^Cannot race "abacus": take one of webgpu/);
  });

  it(
    'race page: a key goes to the server beside whose host it was typed, and to no other',
    { timeout: 240_000 },
    async () => {
      const servers = await Promise.all([keyServer(), keyServer(), keyServer()]);
      const [good, other, further] = servers;
      for (const { url } of servers) await page.route(`${url}/**`, (route) => route.continue());
      try {
        const spec = ({ url }) => `c=endpoint;url=${encodeURIComponent(url)};model=m`;
        await open(`${spec(good)}&${spec(other)}&tokens=2&rounds=1`);
        assert.match(await column(0).innerText(), new RegExp(`Key for ${new URL(good.url).host}`, 'i'));
        await column(0).locator('input[name=key]').fill('sk-for-the-first');
        await column(0).locator('input[name=key]').blur();
        await race();
        assert.ok(good.keys.length > 1 && good.keys.every((key) => key === 'Bearer sk-for-the-first'));
        assert.ok(other.keys.length > 1 && other.keys.every((key) => key === undefined));
        // Another address in the same column has no key until one is typed for it.
        const address = column(0).locator('label', { hasText: 'Server' }).locator('input');
        await address.fill(further.url);
        await address.blur();
        await page.waitForFunction(() => document.querySelector('.column input[name=key]').value === '');
        await race();
        assert.ok(further.keys.length > 1 && further.keys.every((key) => key === undefined));
      } finally {
        for (const { close } of servers) close();
      }
    },
  );
});

/** A server of one word, which any page may ask, and the keys that it was sent. */
async function keyServer() {
  const keys = [];
  const chunk = (delta, reason = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const server = createServer((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', '*, Authorization, Content-Type');
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
    if (request.method === 'OPTIONS') return void response.end();
    keys.push(request.headers.authorization);
    if (request.url.endsWith('/models')) {
      response.setHeader('Content-Type', 'application/json');
      return void response.end(JSON.stringify({ data: [{ id: 'm' }] }));
    }
    response.setHeader('Content-Type', 'text/event-stream');
    response.end(`${chunk({ content: 'Hi' })}${chunk({ content: ' all' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, keys, close: () => server.close() };
}
