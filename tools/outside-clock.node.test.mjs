// Our times against clocks of others: the page's own around its calls, and the one that the browser traces with.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { tsImport } from 'tsx/esm/api';
import { openDemo } from './demo-page.mjs';

const { percentile } = await tsImport('../src/runtime/metrics/percentile.ts', import.meta.url);

const REQUESTS = 6;

describe('outside clocks', () => {
  let demo;
  let figures;
  /** Of the browser's trace, ms by mark. */
  const traced = new Map();

  before(async () => {
    demo = await openDemo();
    const { page, browser } = demo;
    await page.goto(`${demo.url}bench/index.html`);
    await browser.startTracing(page, { categories: ['blink.user_timing'] });
    const options = { name: 'clock', model: 'tutor', engines: ['webgpu'], options: { requests: String(REQUESTS) } };
    const { report } = await page.evaluate((wanted) => window.tokenglassScenario(wanted), options);
    figures = report.figures;
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
    for (const { name, ts } of traceEvents) if (name.startsWith('clock:')) traced.set(name, ts / 1000);
  });
  after(async () => {
    await demo?.close();
  });

  /** 2 % or 1 ms. */
  const agrees = (figure, insideMs, outsideMs) =>
    assert.ok(
      Math.abs(insideMs - outsideMs) <= Math.max(1, 0.02 * outsideMs),
      `${figure}: ${insideMs} ms by the engine, ${outsideMs} ms by the clock outside`,
    );

  it('TTFT, TPOT and ITL agree with the time at the callbacks of the page', () => {
    for (const figure of ['ttft', 'tpot', 'itl']) agrees(figure, figures[`${figure}Ms`], figures[`${figure}OutsideMs`]);
  });

  it('TTFT and TPOT agree with the tracing of the browser', () => {
    const requests = Array.from({ length: REQUESTS }, (_, request) => {
      const at = (what) => traced.get(`clock:${request}:${what}`);
      const deltas = [...traced.keys()].filter((name) => new RegExp(`^clock:${request}:\\d+$`).test(name)).length;
      assert.ok(deltas > 1, `request ${request} left ${deltas} marks in the trace`);
      return { ttftMs: at(0) - at('call'), spanMs: at(deltas - 1) - at(0) };
    });
    agrees(
      'TTFT',
      figures.ttftMs,
      percentile(
        requests.map(({ ttftMs }) => ttftMs),
        50,
      ),
    );
    agrees(
      'TPOT',
      figures.tpotMs,
      percentile(
        requests.map(({ spanMs }) => spanMs / (figures.outputTokens - 1)),
        50,
      ),
    );
  });
});
