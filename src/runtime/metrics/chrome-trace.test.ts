import { expect } from 'chai';
import { chromeTrace, type ChromeTraceEvent } from './chrome-trace.ts';
import { EPOCH_MS, filledLog, requestAt, stepAt } from './testing/hand-made-timeline.ts';

type Span = Extract<ChromeTraceEvent, { ph: 'X' }>;
const spansOf = (events: readonly ChromeTraceEvent[]): Span[] => events.filter((event) => event.ph === 'X');

/** Perfetto drops spans that begin in another one and end after it. */
function expectNested(spans: readonly Span[]): void {
  for (const tid of new Set(spans.map((span) => span.tid))) {
    const open: Span[] = [];
    const track = spans.filter((span) => span.tid === tid).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
    for (const span of track) {
      while (open.length > 0 && open.at(-1)!.ts + open.at(-1)!.dur <= span.ts + 1e-3) open.pop();
      const outer = open.at(-1);
      if (outer) expect(span.ts + span.dur, `${span.name} in ${outer.name}`).to.be.at.most(outer.ts + outer.dur + 1e-3);
      open.push(span);
    }
  }
}

describe('chromeTrace', () => {
  it('chromeTrace: names process and tracks, and puts requests, steps, GPU and delivery on their own', () => {
    const { steps, requests } = filledLog();
    const deliveries = [{ requestId: 'a', tokenMs: EPOCH_MS + 25, deliveredMs: EPOCH_MS + 26, tokens: 1 }];
    const { traceEvents, displayTimeUnit } = chromeTrace({ steps, requests, deliveries, about: { model: 'tutor' } });
    expect(displayTimeUnit).to.equal('ms');
    const names = traceEvents.flatMap((event) =>
      event.ph === 'M' && event.name === 'thread_name' ? [event.args['name']] : [],
    );
    expect(names).to.deep.equal(['Requests', 'Tokens', 'Steps', 'Step parts (CPU)', 'GPU', 'Delivery to the page']);
    const spans = spansOf(traceEvents);
    const on = (cat: string) => spans.filter((span) => span.cat === cat);
    expect(on('request')).to.have.length(1);
    expect(on('request')[0]).to.include({ ts: 0, dur: 56_000, name: 'request a' });
    expect(on('prefill').map(({ name, ts, dur }) => [name, ts, dur])).to.deep.equal([['prefill 24', 5000, 20_000]]);
    expect(on('decode').map(({ ts }) => ts)).to.deep.equal([26_000, 36_000, 46_000]);
    expect(on('token').map(({ name }) => name)).to.deep.equal(['token 2', 'token 3', 'token 4']);
    expect(on('delivery')).to.have.length(1);
    expect(new Set(spans.map((span) => span.tid)).size).to.equal(6);
    expect(traceEvents.filter(({ ph }) => ph === 'C')).to.have.length(6);
  });

  it('chromeTrace: is JSON with finite numbers that begin at 0, and spans of a track nest', () => {
    const log = filledLog();
    // Steps in flight together, and a second request that overlaps the first.
    for (const atMs of [55, 58, 61]) log.addStep(stepAt(atMs, 12));
    log.addRequest({ outcome: 'aborted', trace: requestAt(40, [67, 70, 73], 'b') });
    const deliveries = [60, 61, 62].map((atMs) => ({
      requestId: 'b',
      tokenMs: EPOCH_MS + atMs,
      deliveredMs: EPOCH_MS + 90,
      tokens: 1,
    }));
    const trace = chromeTrace({ steps: log.steps, requests: log.requests, deliveries });
    const { traceEvents } = JSON.parse(JSON.stringify(trace)) as typeof trace;
    const spans = spansOf(traceEvents);
    expect(Math.min(...spans.map(({ ts }) => ts))).to.equal(0);
    for (const span of spans) expect(span.dur, span.name).to.be.within(0, 1e6);
    expectNested(spans);
    expect(new Set(spans.filter(({ cat }) => cat === 'request').map(({ tid }) => tid)).size).to.equal(2);
    expect(trace.otherData['startedAt']).to.equal(new Date(EPOCH_MS).toISOString());
  });

  it('chromeTrace: a page that stalls while the first text is on its way takes nothing from the tokens', () => {
    const trace = requestAt(0, [25, 35, 45, 55], 'a');
    trace.marks.firstDeliveredMs = trace.marks.lastDeliveredMs = EPOCH_MS + 525;
    const deliveries = [25, 35, 45, 55].map((atMs) => ({
      requestId: 'a',
      tokenMs: EPOCH_MS + atMs,
      deliveredMs: EPOCH_MS + 525,
      tokens: 1,
    }));
    const { traceEvents } = chromeTrace({ requests: [{ outcome: 'completed', trace }], deliveries });
    const spans = spansOf(traceEvents);
    const tokens = spans.filter(({ cat }) => cat === 'token');
    expect(tokens.map(({ ts, dur }) => [ts, dur])).to.deep.equal([
      [25_000, 10_000],
      [35_000, 10_000],
      [45_000, 10_000],
    ]);
    const waits = spans.filter(({ cat }) => cat === 'delivery').map(({ args }) => args!['waitedMs']);
    expect(waits).to.deep.equal([500, 490, 480, 470]);
    expectNested(spans);
  });

  it('chromeTrace: tells the drafts of a step, and counts its time by token', () => {
    const log = filledLog();
    log.addStep({ ...stepAt(56, 9), drafted: 3, accepted: 2 });
    const { traceEvents } = chromeTrace({ steps: log.steps });
    expect(spansOf(traceEvents).findLast(({ cat }) => cat === 'decode')!.args).to.include({ drafted: 3, accepted: 2 });
    const counted = traceEvents.flatMap((event) =>
      event.ph === 'C' && event.name === 'ms per token' ? [event.args['ms']!] : [],
    );
    // 9 ms and the gap of 1 ms before it, for three tokens.
    expect(counted.at(-1)).to.be.closeTo(10 / 3, 1e-3);
  });

  it('chromeTrace: keeps to the Trace Event Format', () => {
    const { steps, requests } = filledLog();
    const deliveries = [{ requestId: 'a', tokenMs: EPOCH_MS + 25, deliveredMs: EPOCH_MS + 26, tokens: 1 }];
    const { traceEvents } = chromeTrace({ steps, requests, deliveries });
    const named = new Set(
      traceEvents.flatMap((event) => (event.ph === 'M' && event.name === 'thread_name' ? [event.tid] : [])),
    );
    for (const event of traceEvents) {
      expect(event.pid, event.name).to.equal(1);
      if (event.ph === 'M') continue;
      expect(Number.isFinite(event.ts) && event.ts >= 0, `${event.name} at ${event.ts}`).to.equal(true);
      if (event.ph === 'C') expect(Object.values(event.args).every(Number.isFinite), event.name).to.equal(true);
      // Nothing is on a track without a name, which viewers call "Thread 100".
      else expect(named.has(event.tid), `${event.name} on ${event.tid}`).to.equal(true);
    }
  });

  it('chromeTrace: names no track that is empty', () => {
    const { requests } = filledLog();
    const named = chromeTrace({ requests }).traceEvents.flatMap((event) =>
      event.ph === 'M' && event.name === 'thread_name' ? [event.args['name']] : [],
    );
    expect(named).to.deep.equal(['Requests', 'Tokens']);
  });

  it('chromeTrace: of nothing is a valid trace of nothing', () => {
    const { traceEvents, otherData } = chromeTrace({});
    expect(traceEvents.every(({ ph }) => ph === 'M')).to.equal(true);
    expect(otherData).to.deep.equal({});
  });
});
