// The presenter does what a person does with it, with the built-in model, in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertAccessible } from './accessible.mjs';
import { openDemo } from './demo-page.mjs';

describe('the presenter', () => {
  let demo;
  let page;

  before(async () => {
    demo = await openDemo();
    ({ page } = demo);
  });
  after(async () => {
    await demo?.close();
  });

  const ready = () =>
    page.waitForFunction(() => !document.querySelector('#start').disabled, null, { timeout: 240_000 });

  /** One key starts both. @returns what is said of them */
  async function runBoth() {
    await ready();
    await page.keyboard.press('Space');
    await page.waitForFunction(() => document.querySelectorAll('#outcome p').length > 1, null, { timeout: 240_000 });
    return (await page.locator('#outcome p').allTextContents()).join('\n');
  }

  it('INT4 and INT8: the same words from twice the bytes', { timeout: 300_000 }, async () => {
    await page.goto(`${demo.url}present/index.html?compare=precision`);
    assert.match(await runBoth(), /Both say the very same words\./);
    const models = await page.evaluate(() =>
      [...document.querySelectorAll('tg-lane')].map(({ engine }) => engine.info.model),
    );
    assert.deepEqual(
      models.map(({ quantization }) => quantization),
      ['Q4_0', 'Q8_0'],
    );
    const ratio = models[1].weightBytes / models[0].weightBytes;
    assert.ok(ratio > 1.8 && ratio < 2.05, `${ratio} times the bytes`);
  });

  it('cache on and off: one side has the system prompt, and both say the same', { timeout: 300_000 }, async () => {
    await ready();
    await page.selectOption('#comparison', 'cpu-cache');
    assert.equal(await page.inputValue('#before'), 'long');
    await page.waitForFunction(() => document.querySelector('#b tg-lane').engine?.info.engine === 'onnx-wasm', null, {
      timeout: 240_000,
    });
    const outcome = await runBoth();
    assert.match(outcome, /A \(ONNX on the CPU\) had \d+ of \d+ prompt tokens in its cache, the other none\./);
    assert.match(outcome, /Both say the very same words\./);
    const [cached, prompt] = /had (\d+) of (\d+)/.exec(outcome).slice(1).map(Number);
    assert.ok(cached > 500 && prompt - cached < 64, `${cached} of ${prompt} tokens were cached`);
  });

  it('what is chosen by hand is no comparison of the list', async () => {
    await ready();
    await page.selectOption('#before', 'nothing');
    assert.equal(await page.inputValue('#comparison'), '');
    await page.selectOption('#before', 'long');
    assert.equal(await page.inputValue('#comparison'), 'cpu-cache');
  });

  it('nothing serious for axe, in either scheme and from phone to desktop', { timeout: 240_000 }, () =>
    assertAccessible(page),
  );
});
