// The pages with a chat, as people with other eyes, other text sizes and no mouse have them; with the built-in model, in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertAccessible } from './accessible.mjs';
import { openDemo } from './demo-page.mjs';

/** Runs in the page. @returns what of the page's elements is cut off or stands out at the side, beyond what scrolls on purpose */
function cutOff() {
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) look(element.shadowRoot);
      if (element.matches('nav *, .sr-only, svg *, .uplot *, option')) continue;
      const { overflowX, clipPath } = getComputedStyle(element);
      const name = `${element.localName}.${element.className}`;
      const { right, width } = element.getBoundingClientRect();
      if (width > 0 && right > innerWidth + 1) found.push(`${name} ends at ${Math.round(right)}`);
      if (overflowX === 'hidden' && clipPath === 'none' && element.scrollWidth > element.clientWidth + 1)
        found.push(`${name} cuts off ${element.scrollWidth - element.clientWidth} px`);
    }
  };
  look(document);
  return found;
}

/** Runs in the page. */
const isCutOff = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1;

/** Runs in the page. @returns colours that are more than a few pixels of the chart of tokens */
function coloursOfTokens() {
  const canvas = document
    .querySelector('tg-dashboard')
    .shadowRoot.querySelector('tg-steps')
    .shadowRoot.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue;
    const colour = `${data[at]} ${data[at + 1]} ${data[at + 2]}`;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 20).map(([colour]) => colour);
}

describe('the pages with a chat', () => {
  let demo;
  let page;

  before(async () => {
    demo = await openDemo();
    ({ page } = demo);
  });
  after(async () => {
    await demo?.close();
  });

  async function answered(path) {
    await page.goto(`${demo.url}${path}?engine=onnx-wasm&q=What+is+TTFT%3F`);
    const done = () => window.tokenglass?.engine && document.querySelector('tg-chat')?.busy === false;
    await page.waitForFunction(done, null, { timeout: 240_000 });
  }

  for (const path of ['index.html', 'dashboard/index.html'])
    it(`${path}: nothing serious for axe, with an answer and its tokens`, { timeout: 300_000 }, async () => {
      await answered(path);
      await page.evaluate(() => (document.querySelector('tg-chat').showTokens = true));
      await assertAccessible(page);
    });

  it('the dashboard by keyboard: an answer by token tells id, time and probability', async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.locator('tg-composer textarea').focus();
    await page.keyboard.type('What is prefill?');
    await page.keyboard.press('Enter');
    const answered = () => {
      const chat = document.querySelector('tg-chat');
      return chat.shadowRoot.querySelectorAll('.question').length === 2 && !chat.busy;
    };
    await page.waitForFunction(answered, null, { timeout: 120_000 });
    await page.locator('tg-token-view .text').last().focus();
    await page.keyboard.press('End');
    assert.match(
      (await page.locator('tg-token-view .detail').last().textContent()).replace(/\s+/g, ' '),
      /Tokens? \d+.* \d+(\.\d+)? ms id \d+, p \d+ %/,
    );
  });

  it('the dashboard under a forced palette: the parts of a token keep the colours of their legend', async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForFunction(
      () => document.querySelector('tg-dashboard').shadowRoot.querySelector('tg-steps').draws > 0,
    );
    const drawn = () =>
      page.evaluate(() => document.querySelector('tg-dashboard').shadowRoot.querySelector('tg-steps').draws);
    const before = await drawn();
    await page.emulateMedia({ forcedColors: 'active' });
    await page.waitForFunction(
      (count) => document.querySelector('tg-dashboard').shadowRoot.querySelector('tg-steps').draws > count,
      before,
    );
    const bars = (await page.evaluate(coloursOfTokens)).filter((colour) => new Set(colour.split(' ')).size > 1);
    assert.ok(bars.length >= 2, `bars are drawn in ${bars.length} colours`);
    await page.emulateMedia({ forcedColors: 'none' });
  });

  it('the dashboard on a phone, with text of twice the size: nothing is cut off', async () => {
    const session = await page.context().newCDPSession(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } });
    // Charts take their new size once they are in sight, a frame or more later.
    for (const plot of await page.locator('.plot').all()) {
      await plot.scrollIntoViewIfNeeded();
      for (let tries = 0; tries < 100 && (await plot.evaluate(isCutOff)); tries++) await page.waitForTimeout(50);
    }
    assert.deepEqual(await page.evaluate(cutOff), []);
  });
});
