// What others make of our traces: DevTools' own trace engine, which is behind the Performance panel, reads a recording of a page that answers, and
// the trace that the dashboard exports.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDemo } from './demo-page.mjs';

// The engine is made for browsers.
globalThis.DOMRect ??= class {
  constructor(x = 0, y = 0, width = 0, height = 0) {
    Object.assign(this, { x, y, width, height });
  }
};
const { TraceModel } = await import('@paulirish/trace_engine');

/** What the Performance panel records, of https://chromedevtools.github.io/devtools-protocol/tot/Tracing/ */
const CATEGORIES = [
  'devtools.timeline',
  'disabled-by-default-devtools.timeline',
  'disabled-by-default-devtools.timeline.frame',
  'v8.execute',
  'toplevel',
  'blink.console',
  'blink.user_timing',
  'latencyInfo',
  'loading',
];

async function parse(traceEvents) {
  const model = TraceModel.Model.createWithAllHandlers();
  await model.parse(traceEvents);
  return model.parsedTrace();
}

describe('traces in DevTools', () => {
  let demo;
  let page;
  let answer;
  let recorded;

  before(async () => {
    demo = await openDemo();
    ({ page } = demo);
    const { browser } = demo;
    await page.goto(`${demo.url}dashboard/index.html?engine=onnx-wasm`);
    await page.evaluate(() => window.tokenglass.ready.then(() => undefined));
    await browser.startTracing(page, { categories: CATEGORIES });
    answer = await page.evaluate(() => window.tokenglass.ask('What is TTFT?', { maxTokens: 24 }));
    recorded = JSON.parse((await browser.stopTracing()).toString()).traceEvents;
  });
  after(async () => {
    await demo?.close();
  });

  it('the Performance panel has a group of ours, with prefill, each token and the request on tracks of their own', async () => {
    const { data } = await parse(recorded);
    const groups = data.ExtensionTraceData.extensionTrackData;
    assert.deepEqual(
      groups.map(({ name, isTrackGroup }) => [name, isTrackGroup]),
      [['Tokenglass', true]],
    );
    const tracks = groups[0].entriesByTrack;
    assert.deepEqual(Object.keys(tracks).sort(), ['First delivery', 'Prefill', 'Requests', 'Tokens']);
    assert.equal(tracks.Prefill.length, 1);
    // The prefill gives the first token; a step may run ahead of an answer that ends.
    const { outputTokens, ttftMs } = answer.figures;
    assert.ok(
      [outputTokens - 1, outputTokens].includes(tracks.Tokens.length),
      `${tracks.Tokens.length} of ${outputTokens}`,
    );
    const [request, firstToken] = ['tokenglass request', 'tokenglass first token'].map((wanted) =>
      tracks.Requests.find(({ name }) => name === wanted),
    );
    assert.ok(Math.abs(firstToken.dur / 1000 - ttftMs) < 0.1, `${firstToken.dur} us, TTFT ${ttftMs} ms`);
    const endUs = request.ts + request.dur;
    for (const { ts, dur } of [...tracks.Prefill, ...tracks.Tokens])
      assert.ok(ts >= request.ts - 1 && ts + dur <= endUs + 1, `a step at ${ts} is outside its request`);
    for (const [before, { ts }] of tracks.Tokens.slice(1).entries())
      assert.ok(ts >= tracks.Tokens[before].ts + tracks.Tokens[before].dur - 1, 'tokens overlap on their track');
  });

  it('the exported trace opens too: every span is on its named track', async () => {
    const { traceEvents } = await page.evaluate(async () => {
      await document.querySelector('tg-chat').ask('What is TTFT?');
      return document.querySelector('tg-dashboard').exportTrace();
    });
    const { data } = await parse(traceEvents);
    assert.equal(data.Meta.traceIsGeneric, true);
    const [[pid, process]] = data.Renderer.processes;
    assert.equal(data.Meta.processNames.get(pid).args.name, 'Tokenglass');
    const names = new Map(
      traceEvents.filter(({ name }) => name === 'thread_name').map(({ tid, args }) => [tid, args.name]),
    );
    assert.deepEqual([...names.values()], ['Requests', 'Tokens', 'Steps', 'Step parts (CPU)', 'Delivery to the page']);
    for (const [tid, name] of names) {
      const { name: shown, entries } = process.threads.get(tid);
      const spans = traceEvents.filter((event) => event.ph === 'X' && event.tid === tid);
      assert.equal(shown, name);
      assert.deepEqual(
        entries.map(({ name, ts, dur }) => [name, ts, dur]).sort(),
        spans.map(({ name, ts, dur }) => [name, ts, dur]).sort(),
        name,
      );
    }
  });
});
